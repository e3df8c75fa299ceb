// SPDX-License-Identifier: Apache-2.0
// A SkyRTC room behind the events of a mesh room: whoever comes offers to everybody who is there.

class SkyRTCSocket {
  constructor(url) {
    this.url = url;
    this.handlers = {};
    this.isClosed = false;
  }

  on(event, handler) { this.handlers[event] = handler; }

  tell(event, ...values) { this.handlers[event]?.(...values); }

  connect() {
    return new Promise((resolve, reject) => {
      this.webSocket = new WebSocket(this.url);
      this.webSocket.onopen = resolve;
      this.webSocket.onerror = () => reject(new Error("the WebSocket failed"));
      this.webSocket.onclose = () => this.closed("the WebSocket closed");
      this.webSocket.onmessage = ({ data }) => this.take(JSON.parse(data));
    });
  }

  send(eventName, data) { this.webSocket.send(JSON.stringify({ eventName, data })); }

  emit(event, room, message) {
    if (event === "join") {
      this.room = room;
      this.send("__join", { room });
    } else if (event === "leave") {
      // There is no such message: others are told of the end of our WebSocket.
      this.tell("leaved");
    } else if (message.type === "candidate") {
      const { label, id, candidate } = message;
      this.send("__ice_candidate", { socketId: message.to, label, id, candidate });
    } else {
      const { type, sdp } = message;
      this.send(`__${type}`, { socketId: message.to, sdp: { type, sdp } });
    }
  }

  take({ eventName, data }) {
    if (eventName === "_peers") {
      this.tell("joined", this.room, data.you, { mesh: true });
      for (const member of data.connections) this.tell("otherjoin", this.room, member);
    } else if (eventName === "_remove_peer") {
      this.tell("bye", this.room, data.socketId);
    } else if (eventName === "_offer" || eventName === "_answer") {
      this.tell("message", this.room, { ...data.sdp, from: data.socketId });
    } else if (eventName === "_ice_candidate") {
      const { label, candidate } = data;
      this.tell("message", this.room, { type: "candidate", label, candidate, from: data.socketId });
    }
  }

  closed(reason) {
    if (this.isClosed) return;
    this.isClosed = true;
    this.webSocket.close();
    this.tell("closed", reason);
  }
}
