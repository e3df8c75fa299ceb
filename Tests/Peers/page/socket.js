// SPDX-License-Identifier: Apache-2.0
// A small Socket.IO client: Engine.IO 3 and 4, polling or WebSocket, default namespace, events without acknowledgement.

class RoomSocket {
  constructor(url, eio, transport) {
    // b64: version 3 servers then answer polls with text.
    const query = `EIO=${eio}&transport=${transport}${eio === 3 ? "&b64=1" : ""}`;
    this.base = `${url.replace(/\/$/, "")}/socket.io/?${query}`;
    this.eio = eio;
    this.transport = transport;
    this.handlers = {};
    this.outgoing = [];
    this.isPosting = false;
    this.isClosed = false;
  }

  on(event, handler) { this.handlers[event] = handler; }

  emit(event, ...values) { this.send("42" + JSON.stringify([event, ...values])); }

  connect() {
    return new Promise((resolve, reject) => {
      this.opened = resolve;
      this.failed = reject;
      if (this.transport === "websocket") {
        this.webSocket = new WebSocket(this.base.replace(/^http/, "ws"));
        this.webSocket.onmessage = (message) => this.take(message.data);
        this.webSocket.onclose = () => this.closed("the WebSocket closed");
        this.webSocket.onerror = () => this.closed("the WebSocket failed");
      } else {
        this.poll();
      }
    });
  }

  async poll() {
    try {
      while (!this.isClosed) {
        const answer = await fetch(this.sid ? `${this.base}&sid=${this.sid}` : this.base);
        if (!answer.ok) throw new Error(`poll answered ${answer.status}`);
        for (const packet of this.split(await answer.text())) this.take(packet);
      }
    } catch (error) {
      this.closed(String(error));
    }
  }

  split(payload) {
    if (this.eio === 4) return payload.split("\x1e");
    const packets = [];
    while (payload.length > 0) {
      const colon = payload.indexOf(":");
      const end = colon + 1 + Number(payload.slice(0, colon));
      packets.push(payload.slice(colon + 1, end));
      payload = payload.slice(end);
    }
    return packets;
  }

  take(packet) {
    switch (packet[0]) {
      case "0": {
        const opened = JSON.parse(packet.slice(1));
        this.sid = opened.sid;
        if (this.eio === 4) this.send("40");
        else this.pinging = setInterval(() => this.send("2"), opened.pingInterval);
        break;
      }
      case "1": this.closed("the server closed the session"); break;
      case "2": this.send("3" + packet.slice(1)); break;
      case "4":
        if (packet[1] === "0") this.opened();
        else if (packet[1] === "1" || packet[1] === "4") this.closed("the server refused the namespace");
        else if (packet[1] === "2") {
          const [event, ...values] = JSON.parse(packet.slice(packet.indexOf("[")));
          this.handlers[event]?.(...values);
        }
    }
  }

  send(packet) {
    if (this.isClosed) return;
    if (this.webSocket) return this.webSocket.send(packet);
    this.outgoing.push(packet);
    if (!this.isPosting) this.post();
  }

  async post() {
    this.isPosting = true;
    while (this.outgoing.length > 0) {
      const packets = this.outgoing.splice(0);
      const body = this.eio === 4 ? packets.join("\x1e")
        : packets.map((packet) => `${packet.length}:${packet}`).join("");
      const headers = { "Content-Type": "text/plain;charset=UTF-8" };
      const answer = await fetch(`${this.base}&sid=${this.sid}`, { method: "POST", body, headers }).catch(() => null);
      if (!answer?.ok) this.closed("a post failed");
    }
    this.isPosting = false;
  }

  closed(reason) {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.pinging);
    this.webSocket?.close();
    this.failed(new Error(reason));
    this.handlers.closed?.(reason);
  }
}
