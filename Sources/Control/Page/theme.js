// SPDX-License-Identifier: Apache-2.0
// Runs before the first paint: a page that was set to dark never flashes white.

(() => {
  const key = "tapedeck.theme";
  const root = document.documentElement;
  const read = () => {
    try {
      const theme = localStorage.getItem(key);
      return theme === "light" || theme === "dark" ? theme : "auto";
    } catch {
      return "auto";
    }
  };
  const apply = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  apply(read());
  document.addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("theme");
    select.value = read();
    select.addEventListener("change", () => {
      apply(select.value);
      try {
        localStorage.setItem(key, select.value);
      } catch {
        // A browser that stores nothing: the choice holds for this page.
      }
    });
  });
})();
