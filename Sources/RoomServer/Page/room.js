// SPDX-License-Identifier: Apache-2.0
//
// The browser's side of a Tapedeck room: Engine.IO 4 over WebSocket, Socket.IO 5 events, and one peer connection for
// each other member. Each member that is in the room already offers to the newcomer; every message names its addressee in `to`.
// A description carries its sender's `name`, and `recorder` if the sender is there to record. Chat goes through a data channel
// of each connection, as plain text.
"use strict";

/** One Socket.IO connection to the default namespace, over WebSocket only. */
class SocketIOConnection {
  /** `handlers`: `connected()`, `event(name, args)` and `closed(reason)`, which comes exactly once. */
  constructor(url, handlers) {
    this.handlers = handlers;
    this.isClosed = false;
    this.liveness = 0;
    this.silence = 15000; // until the open packet has it
    this.socket = new WebSocket(url);
    this.socket.onmessage = (message) => this.received(message.data);
    this.socket.onclose = () => this.ended("the connection to the server closed");
    this.socket.onerror = () => this.ended("the server cannot be reached");
    this.watch();
  }

  emit(name, ...args) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send("42" + JSON.stringify([name, ...args]));
  }

  close() {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.liveness);
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send("41");
    this.socket.close(1000);
  }

  ended(reason) {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.liveness);
    this.socket.close();
    this.handlers.closed(reason);
  }

  /** Engine.IO 4: the server pings; a server that is silent for longer than it promised is gone. */
  watch() {
    clearTimeout(this.liveness);
    this.liveness = setTimeout(() => this.ended("the server is silent"), this.silence);
  }

  received(text) {
    if (this.isClosed || typeof text !== "string") return;
    this.watch();
    switch (text[0]) {
      case "0": {
        const open = parseJSON(text.slice(1)) ?? {};
        this.silence = (Number(open.pingInterval) || 25000) + (Number(open.pingTimeout) || 20000);
        this.watch();
        this.socket.send("40");
        break;
      }
      case "1": this.ended("the server closed the connection"); break;
      case "2": this.socket.send("3" + text.slice(1)); break;
      case "4": this.receivedPacket(text.slice(1)); break;
      default: break;
    }
  }

  receivedPacket(packet) {
    switch (packet[0]) {
      case "0": this.handlers.connected(); break;
      case "1": this.ended("the server ended the session"); break;
      case "2": {
        const event = parseJSON(packet.slice(1).replace(/^\d+/, ""));
        if (Array.isArray(event) && typeof event[0] === "string") this.handlers.event(event[0], event.slice(1));
        break;
      }
      case "4": this.ended("the server refused the connection"); break;
      default: break;
    }
  }
}

const MAXIMUM_MESSAGES = 200;
const MAXIMUM_MESSAGE_LENGTH = 2000;

/** The call with one other member: its peer connection, its tile, its chat, and candidates that came too early. */
class Call {
  constructor(room, peer) {
    this.room = room;
    this.peer = peer;
    this.name = "";
    this.isRecorder = false;
    this.chat = null;
    this.needsChat = false;
    this.remoteSession = "";
    this.pendingCandidates = [];
    this.isOfferer = false;
    this.work = Promise.resolve();
    this.tile = makeTile(peer, false);
    this.stream = new MediaStream();
    this.tile.video.srcObject = this.stream;
    this.connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    this.connection.ontrack = ({ track }) => {
      this.stream.addTrack(track);
      this.describe();
      play(this.tile.video);
    };
    this.connection.ondatachannel = ({ channel }) => this.takeChat(channel);
    this.connection.onicecandidate = ({ candidate }) => {
      if (!candidate || !candidate.candidate) return;
      // Seed phones read the line from `sdp`, all others from `candidate`.
      this.send({
        type: "candidate", label: candidate.sdpMLineIndex ?? 0, id: candidate.sdpMid ?? "",
        candidate: candidate.candidate, sdp: candidate.candidate,
      });
    };
    this.connection.onconnectionstatechange = () => this.stateChanged();
    this.describe();
  }

  send(data) { this.room.emit("message", this.room.name, { ...data, to: this.peer }); }

  /** Runs one negotiation step after the others; a failed step is shown, and does not stop the next. */
  enqueue(step) {
    this.work = this.work.then(step).catch((error) => {
      if (this.connection.signalingState !== "closed") this.room.report(`Negotiation failed: ${error.message}`);
    });
  }

  offer(options) {
    this.isOfferer = true;
    this.negotiate(options);
  }

  negotiate(options) {
    this.enqueue(async () => {
      if (this.connection.getTransceivers().length === 0) this.addMedia(true);
      if (!this.chat) this.takeChat(this.connection.createDataChannel("chat"));
      await this.connection.setLocalDescription(await this.connection.createOffer(options));
      this.send({ type: "offer", sdp: this.connection.localDescription.sdp, name: this.room.ownName });
    });
  }

  /** A recorder never offers a chat, but takes one; other apps are not asked, as not all survive a second offer. */
  offerReceived(data) {
    this.introduce(data);
    this.needsChat = this.isRecorder && this.chat?.readyState !== "open" && !/^m=application /m.test(data.sdp);
    this.remoteSession = sessionOf(data.sdp);
    this.enqueue(async () => {
      // An offer of our own that is still open gives way.
      await this.connection.setRemoteDescription({ type: "offer", sdp: data.sdp });
      this.addMedia(false);
      await this.connection.setLocalDescription(await this.connection.createAnswer());
      this.send({ type: "answer", sdp: this.connection.localDescription.sdp, name: this.room.ownName });
      await this.flushCandidates();
    });
  }

  answerReceived(data) {
    this.introduce(data);
    this.enqueue(async () => {
      if (this.connection.signalingState !== "have-local-offer") return;
      await this.connection.setRemoteDescription({ type: "answer", sdp: data.sdp });
      this.remoteSession = sessionOf(data.sdp);
      await this.flushCandidates();
    });
  }

  candidateReceived(data) {
    const line = [data.candidate, data.sdp].find((text) => typeof text === "string" && text !== "");
    if (!line || this.pendingCandidates.length >= 256) return;
    const label = Number(data.label);
    this.pendingCandidates.push({
      candidate: line.trim().replace(/^a=/, ""),
      sdpMLineIndex: Number.isInteger(label) && label >= 0 ? label : 0,
    });
    this.enqueue(() => this.flushCandidates());
  }

  async flushCandidates() {
    if (!this.connection.remoteDescription) return;
    for (const candidate of this.pendingCandidates.splice(0)) {
      try {
        await this.connection.addIceCandidate(candidate);
      } catch (error) {
        console.warn("candidate ignored:", error.message);
      }
    }
  }

  /** Gives each kind of ours to the peer; the offerer also asks for the kinds that we cannot send. */
  addMedia(asksForMissing) {
    const stream = this.room.localStream;
    for (const kind of ["audio", "video"]) {
      const track = stream.getTracks().find((each) => each.kind === kind);
      if (this.connection.getSenders().some((sender) => sender.track && sender.track === track)) continue;
      if (track) this.connection.addTrack(track, stream);
      else if (asksForMissing) this.connection.addTransceiver(kind, { direction: "recvonly" });
    }
  }

  /** Sends a track in the place of another of its kind. */
  async replace(old, track) {
    const sender = this.connection.getSenders().find((each) => each.track === old);
    await sender?.replaceTrack(track);
  }

  introduce({ name, recorder }) {
    if (typeof name === "string" && name !== "") this.name = name.slice(0, 64);
    this.isRecorder = recorder === true;
    this.describe();
  }

  get shownName() { return this.name || `Guest ${this.peer.slice(0, 4)}`; }

  /** One channel is enough: the first, or the one that is called so. */
  takeChat(channel) {
    if (this.chat && channel.label !== "chat") return;
    this.chat = channel;
    channel.onopen = () => this.room.showChat();
    channel.onmessage = ({ data }) => {
      if (typeof data === "string" && data !== "") this.room.wrote(this.shownName, data);
    };
    if (channel.readyState === "open") this.room.showChat();
  }

  /** Whether the text is on its way. */
  say(text) {
    if (this.chat?.readyState !== "open") return false;
    this.chat.send(text);
    return true;
  }

  stateChanged() {
    this.describe();
    if (this.connection.connectionState === "connected" && this.needsChat) {
      this.needsChat = false;
      this.negotiate();
    }
    if (this.connection.connectionState === "failed" && this.isOfferer) this.offer({ iceRestart: true });
  }

  describe() {
    const state = this.connection.connectionState;
    const note = { connected: "", failed: " (no connection)", disconnected: " (interrupted)" }[state];
    this.tile.setCaption(this.shownName + (note ?? " (connecting)"));
    // A recorder that sends nothing has nothing to show; the badge stands for it.
    this.tile.figure.hidden = this.isRecorder && this.stream.getTracks().length === 0;
  }

  close() {
    this.connection.ontrack = null;
    this.connection.ondatachannel = null;
    if (this.chat) this.chat.onopen = this.chat.onmessage = null;
    this.connection.onicecandidate = null;
    this.connection.onconnectionstatechange = null;
    this.connection.close();
    this.tile.video.srcObject = null;
    this.tile.figure.remove();
  }
}

/** One membership: connects, joins, keeps one `Call` for each other member, and takes everything down on `leave`. */
class Room {
  constructor(name, ownName, view) {
    this.name = name;
    this.ownName = ownName;
    this.view = view;
    this.state = "connecting";
    this.ownID = null;
    this.calls = new Map();
    this.localStream = new MediaStream();
    this.socket = null;
    this.retryDelay = 1000;
    this.retryTimer = 0;
    this.note = "";
  }

  get isOver() { return ["left", "full", "error"].includes(this.state); }

  async start() {
    this.show("connecting", "Asking for camera and microphone…");
    const media = await openMedia();
    if (this.isOver) {
      for (const track of media.stream.getTracks()) track.stop();
      return;
    }
    this.localStream = media.stream;
    this.note = media.note;
    if (media.stream.getTracks().length > 0) this.view.showOwn(media.stream, this.ownName);
    this.connect();
  }

  connect() {
    this.show("connecting", "Connecting…");
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new SocketIOConnection(`${scheme}//${location.host}/socket.io/?EIO=4&transport=websocket`, {
      connected: () => this.emit("join", this.name),
      event: (name, args) => this.received(name, args),
      closed: (reason) => this.lost(reason),
    });
  }

  emit(name, ...args) { this.socket?.emit(name, ...args); }

  /** The server sends the others `bye` for us, so they offer again once we are back. */
  lost(reason) {
    if (this.isOver) return;
    this.show("connecting", `Reconnecting: ${reason}.`);
    this.retryTimer = setTimeout(() => this.connect(), this.retryDelay * (0.75 + Math.random() / 2));
    this.retryDelay = Math.min(this.retryDelay * 1.5, 30000);
  }

  received(name, args) {
    if (args[0] !== this.name || this.isOver) return;
    const peer = args[1];
    switch (name) {
      case "joined": this.joined(peer, args[2] ?? {}); break;
      case "otherjoin":
        this.drop(peer);
        this.call(peer).offer();
        this.showMembers();
        break;
      case "bye":
        this.drop(peer);
        this.showMembers();
        break;
      case "full":
        if (this.ownID) {
          // Perhaps with our own old connection, which the server has not missed yet.
          this.socket.close();
          this.lost("the room is full");
        } else {
          this.end("full", fullText(args[2]?.capacity));
        }
        break;
      case "message": this.messageReceived(args[1]); break;
      default: break;
    }
  }

  joined(ownID, details) {
    this.ownID = ownID;
    this.retryDelay = 1000;
    for (const peer of [...this.calls.keys()]) this.drop(peer);
    for (const peer of Array.isArray(details.peers) ? details.peers : []) this.call(peer);
    this.showMembers();
  }

  messageReceived(data) {
    if (data === null || typeof data !== "object" || typeof data.from !== "string" || !this.ownID) return;
    switch (data.type) {
      case "offer": {
        if (typeof data.sdp !== "string") return;
        // Another session id means that the peer threw its connection away without telling.
        const session = this.calls.get(data.from)?.remoteSession;
        if (session && session !== sessionOf(data.sdp)) this.drop(data.from);
        this.call(data.from).offerReceived(data);
        break;
      }
      case "answer":
        if (typeof data.sdp === "string") this.calls.get(data.from)?.answerReceived(data);
        break;
      case "candidate": this.call(data.from).candidateReceived(data); break;
      default: break;
    }
    this.showMembers();
  }

  /** The call with a member, made if there is none. */
  call(peer) {
    let call = this.calls.get(peer);
    if (!call) {
      call = new Call(this, peer);
      this.calls.set(peer, call);
      this.view.tiles.append(call.tile.figure);
    }
    return call;
  }

  drop(peer) {
    this.calls.get(peer)?.close();
    this.calls.delete(peer);
  }

  setEnabled(kind, isEnabled) {
    for (const track of this.localStream.getTracks()) if (track.kind === kind) track.enabled = isEnabled;
  }

  /** Sends what another camera or microphone of this computer captures. */
  async choose(kind, deviceID) {
    const old = this.localStream.getTracks().find((track) => track.kind === kind);
    if (!old || this.isOver) return;
    const before = old.getSettings().deviceId;
    // Phones open one camera at a time.
    old.stop();
    let track = await openDevice(kind, deviceID).catch((error) => this.report(`This device cannot be used: ${error.message}.`));
    track ??= await openDevice(kind, before).catch(() => null);
    if (!track) return;
    if (this.isOver) return track.stop();
    track.enabled = old.enabled;
    this.localStream.removeTrack(old);
    this.localStream.addTrack(track);
    for (const call of this.calls.values()) call.enqueue(() => call.replace(old, track));
  }

  leave() {
    this.emit("leave", this.name);
    this.end("left", "You left the room.");
  }

  /** Closes every connection, stops camera and microphone, removes every tile. */
  end(state, text) {
    if (this.isOver) return;
    clearTimeout(this.retryTimer);
    for (const peer of [...this.calls.keys()]) this.drop(peer);
    for (const track of this.localStream.getTracks()) track.stop();
    this.socket?.close();
    this.note = "";
    this.show(state, text);
    this.view.ended();
  }

  showMembers() {
    const calls = [...this.calls.values()];
    const others = calls.filter((call) => !call.isRecorder).length;
    this.view.showRecording(calls.some((call) => call.isRecorder));
    const text = others === 0 ? "no one else is here yet. The address of this page brings others here"
      : others === 1 ? "one other person" : `${others} others`;
    this.show("joined", `In room ${this.name}: ${text}.`);
  }

  showChat() { if (this.state === "joined") this.view.showChat(); }

  wrote(who, text) { if (!this.isOver) this.view.showMessage(who, text); }

  /** Sends a text to everyone who takes chat. */
  say(text) {
    const heard = [...this.calls.values()].filter((call) => call.say(text)).length;
    this.view.showMessage("You", heard > 0 ? text : `${text} (no one is here to read it)`);
  }

  report(text) { this.view.setStatus(this.state, text); }

  show(state, text) {
    this.state = state;
    this.view.setStatus(state, this.note ? `${text} ${this.note}` : text);
  }
}

/** Why no one else can join; older servers do not say how many can. */
function fullText(capacity) {
  if (!Number.isInteger(capacity)) return "The room is full.";
  return `The room is full: this server takes ${capacity} members in a room, and a recorder is one of them. `
    + `To admit more, restart it with --room-size ${capacity + 1}.`;
}

const VIDEO = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };

/** A track of one device. */
async function openDevice(kind, deviceID) {
  const wanted = { ...(kind === "video" ? VIDEO : {}), deviceId: { exact: deviceID } };
  return (await navigator.mediaDevices.getUserMedia({ [kind]: wanted })).getTracks()[0];
}

/** Camera and microphone, or what there is of them, with a sentence on what is missing. Never fails. */
async function openMedia() {
  if (!navigator.mediaDevices) {
    return { stream: new MediaStream(), note: "Receiving only: browsers give the camera to https or localhost only." };
  }
  const choices = [
    [{ audio: true, video: VIDEO }, ""],
    [{ audio: true }, "No camera: sending audio only."],
    [{ video: VIDEO }, "No microphone: sending video only."],
  ];
  let reason = "no camera or microphone found.";
  for (const [constraints, note] of choices) {
    try {
      return { stream: await navigator.mediaDevices.getUserMedia(constraints), note };
    } catch (error) {
      reason = error.name === "NotAllowedError" ? "camera and microphone are not permitted." : `${error.message}.`;
    }
  }
  return { stream: new MediaStream(), note: `Receiving only: ${reason}` };
}

/** A figure with video and caption. Text from peers reaches it as text only. */
function makeTile(peer, isOwn) {
  const figure = document.createElement("figure");
  const video = document.createElement("video");
  const caption = document.createElement("figcaption");
  video.autoplay = true;
  video.playsInline = true;
  video.muted = isOwn;
  if (isOwn) {
    figure.className = "own";
    video.id = "local";
  } else {
    video.dataset.peer = peer;
  }
  figure.append(video, caption);
  const setCaption = (text) => {
    caption.textContent = text;
    video.setAttribute("aria-label", `Video of ${text}`);
  };
  return { figure, video, setCaption };
}

/** Plays with audio, or, where the browser wants a gesture first, without it until the button is pressed. */
function play(video) {
  video.play().catch((error) => {
    if (error.name !== "NotAllowedError") return;
    video.muted = true;
    document.getElementById("unmute").hidden = false;
    video.play().catch(() => {});
  });
}

/** The session id of the o= line (RFC 8866 section 5.2): another id is another peer connection. */
function sessionOf(sdp) { return /^o=\S+ (\S+)/m.exec(sdp)?.[1] ?? ""; }

function parseJSON(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The address of a room; names that mean something else in a path go into the query. */
function roomAddress(name) {
  const text = encodeURIComponent(name);
  return /^(\.{1,2}|index\.html|room\.(css|js)|favicon\.ico|healthz|socket\.io)$/.test(name) ? `/?room=${text}` : `/${text}`;
}

/** The room that the page's own address names. */
function roomOfPath() {
  const text = location.pathname.slice(1);
  return text === "index.html" ? "" : decodeFragment(text);
}

/** The text where it is percent-encoded well, as it is otherwise. */
function decodeFragment(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether the server takes a room's name; it does not answer to another one. */
function isRoomName(text) { return [...text].length <= 128 && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text); }

function startPage() {
  const element = (id) => document.getElementById(id);
  const query = new URLSearchParams(location.search);
  let room = null;
  let ownTile = null;

  const view = {
    tiles: element("tiles"),
    showRecording(isRecorded) {
      const text = isRecorded ? "Recording" : "";
      if (element("recording").textContent !== text) element("recording").textContent = text;
      element("recording").title = isRecorded ? "A member of this room records it." : "";
    },
    showChat() { element("chat").hidden = false; },
    showMessage(who, text) {
      const list = element("messages");
      const item = document.createElement("p");
      const name = document.createElement("bdi");
      const words = document.createElement("bdi");
      name.textContent = `${who}: `;
      words.textContent = text.slice(0, MAXIMUM_MESSAGE_LENGTH);
      item.append(name, words);
      list.append(item);
      while (list.children.length > MAXIMUM_MESSAGES) list.firstChild.remove();
      list.scrollTop = list.scrollHeight;
      view.showChat();
    },
    setStatus(state, text) {
      element("status").dataset.state = state;
      if (element("status").textContent !== text) element("status").textContent = text;
    },
    showOwn(stream, name) {
      ownTile = makeTile("", true);
      ownTile.setCaption(name ? `${name} (you)` : "You");
      ownTile.video.srcObject = stream;
      view.tiles.prepend(ownTile.figure);
      element("mute-audio").hidden = stream.getAudioTracks().length === 0;
      element("mute-video").hidden = stream.getVideoTracks().length === 0;
      view.showDevices(stream);
    },
    /** A list of cameras, and one of microphones, where there is a choice. */
    async showDevices(stream) {
      const devices = await navigator.mediaDevices.enumerateDevices();
      for (const [id, kind] of [["camera", "video"], ["microphone", "audio"]]) {
        const found = devices.filter((device) => device.kind === `${kind}input` && device.deviceId !== "");
        const track = stream.getTracks().find((each) => each.kind === kind);
        element(id).replaceChildren(...found.map(({ deviceId, label }) => new Option(label || "No name", deviceId)));
        element(id).value = track?.getSettings().deviceId ?? "";
        element(id).parentElement.hidden = !track || found.length < 2;
      }
    },
    ended() {
      if (ownTile) {
        ownTile.video.srcObject = null;
        ownTile.figure.remove();
      }
      ownTile = null;
      element("controls").hidden = true;
      for (const id of ["camera", "microphone"]) element(id).parentElement.hidden = true;
      element("unmute").hidden = true;
      element("chat").hidden = true;
      element("messages").replaceChildren();
      view.showRecording(false);
      element("about").hidden = false;
      element("entry").hidden = false;
      element("join").focus();
    },
  };

  const toggle = (id, kind, onText, offText) => {
    const button = element(id);
    const set = (isMuted) => {
      button.setAttribute("aria-pressed", String(isMuted));
      button.textContent = isMuted ? offText : onText;
      room?.setEnabled(kind, !isMuted);
    };
    button.addEventListener("click", () => set(button.getAttribute("aria-pressed") !== "true"));
    return () => set(false);
  };
  const resetAudio = toggle("mute-audio", "audio", "Mute microphone", "Unmute microphone");
  const resetVideo = toggle("mute-video", "video", "Stop camera", "Start camera");

  const join = () => {
    const name = element("room").value.trim();
    if (name === "" || (room && !room.isOver)) return;
    if (!isRoomName(name)) {
      view.setStatus("error", "The name of a room has at most 128 characters, and no line breaks or control characters.");
      element("room").focus();
      return;
    }
    history.replaceState(null, "", roomAddress(name));
    document.title = `${name} – Tapedeck room`;
    element("entry").hidden = true;
    element("about").hidden = true;
    element("controls").hidden = false;
    element("mute-audio").hidden = true;
    element("mute-video").hidden = true;
    resetAudio();
    resetVideo();
    room = new Room(name, element("name").value.trim(), view);
    room.start();
    element("leave").focus();
  };

  element("entry").addEventListener("submit", (event) => {
    event.preventDefault();
    join();
  });
  element("say").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = element("text").value.trim();
    if (text !== "") room?.say(text);
    element("text").value = "";
  });
  for (const [id, kind] of [["camera", "video"], ["microphone", "audio"]]) {
    element(id).addEventListener("change", async (event) => {
      await room?.choose(kind, event.target.value);
      // If that failed, the one before is still in use.
      if (room && !room.isOver) await view.showDevices(room.localStream);
    });
  }
  navigator.mediaDevices?.addEventListener("devicechange", () => {
    if (room && !room.isOver) view.showDevices(room.localStream);
  });
  element("leave").addEventListener("click", () => room?.leave());
  element("unmute").addEventListener("click", () => {
    element("unmute").hidden = true;
    for (const video of document.querySelectorAll("video[data-peer]")) {
      video.muted = false;
      play(video);
    }
  });
  window.addEventListener("pagehide", () => room?.leave());

  /** What tests and the curious read: `peers` maps each member's id to its RTCPeerConnection. */
  window.tapedeckRoom = {
    get peers() { return new Map([...(room?.calls ?? [])].map(([peer, call]) => [peer, call.connection])); },
    get state() { return room?.state ?? "idle"; },
    get ownID() { return room?.ownID ?? null; },
    get localStream() { return room?.localStream ?? null; },
  };

  element("room").value = query.get("room") ?? (decodeFragment(location.hash.slice(1)) || roomOfPath());
  element("name").value = query.get("name") ?? "";
  if (query.get("autojoin") === "1") join();
}

startPage();
