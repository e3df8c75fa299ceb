// SPDX-License-Identifier: Apache-2.0

/// Facts that can be read from a launch text without GStreamer: its elements and their names.
struct LaunchText: Sendable, Hashable {
    /// Factories of the elements, in order; an element that is used twice is there twice.
    private(set) var elements: [String] = []
    /// The names given by `name=`, in order.
    private(set) var names: [String] = []

    /// Reads a text in the notation of `gst-launch-1.0`.
    init(_ text: String) {
        // A chain of elements: "a x=y ! b"; "name." and "name.pad" point at an element, "type/subtype,…" are caps.
        var expectsElement = true
        var isCaps = false
        for word in Self.words(text) {
            if word == "!" {
                (expectsElement, isCaps) = (true, false)
                continue
            }
            if word.hasPrefix("name="), !isCaps {
                self.names.append(String(word.dropFirst(5)))
            } else if expectsElement || !(isCaps || word.contains("=")) {
                isCaps = expectsElement && word.contains("/")
                if !isCaps, !word.isEmpty, !word.contains("."), !word.contains("="), word != "(", word != ")" {
                    self.elements.append(word)
                }
            }
            expectsElement = false
        }
    }

    /// The words of a text; quotes and backslashes hold together what belongs together.
    private static func words(_ text: String) -> [String] {
        var words: [String] = []
        var word = ""
        var hasWord = false
        var quote: Unicode.Scalar?
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                word.unicodeScalars.append(scalar)
                isEscaped = false
            } else if scalar == "\\" {
                (isEscaped, hasWord) = (true, true)
            } else if let open = quote {
                if scalar == open { quote = nil } else { word.unicodeScalars.append(scalar) }
            } else if scalar == "\"" || scalar == "'" {
                (quote, hasWord) = (scalar, true)
            } else if scalar.properties.isWhitespace {
                if hasWord { words.append(word) }
                (word, hasWord) = ("", false)
            } else {
                word.unicodeScalars.append(scalar)
                hasWord = true
            }
        }
        if hasWord { words.append(word) }
        return words
    }
}
