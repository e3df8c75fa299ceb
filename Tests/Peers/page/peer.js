// SPDX-License-Identifier: Apache-2.0
// A member of a room, after the rules of the course's browser client. browser_peer.py starts it with startPeer(options)
// and is told what happens through report(facts).

let options, socket, stream, ownID, connection, timers = [];
let chain = Promise.resolve();

// Socket events are worked off one after the other.
const inOrder = (work) => (...values) => {
  chain = chain.then(() => work(...values)).catch((error) => report({ event: "error", reason: String(error) }));
  return chain;
};

async function startPeer(given) {
  options = given;
  if (options.send) {
    const [width, height] = options.size;
    stream = await navigator.mediaDevices.getUserMedia({
      audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false },
      video: { width, height, frameRate: options.fps },
    });
  }
  socket = new RoomSocket(options.url, options.eio, options.transport);
  socket.on("joined", inOrder((room, id) => {
    if (ownID) return;
    ownID = id;
    report({ event: "joined", room, id });
  }));
  socket.on("otherjoin", inOrder(async (room, id) => {
    if (id === ownID) return;
    await open();
    await offer();
  }));
  socket.on("message", inOrder((room, ...rest) => message(rest.filter((value) => value && typeof value === "object").pop())));
  socket.on("bye", inOrder(close));
  socket.on("full", () => report({ event: "full" }));
  socket.on("leaved", () => report({ event: "leaved" }));
  socket.on("closed", (reason) => report({ event: "disconnected", reason }));
  await socket.connect();
  socket.emit("join", options.room);
}

async function open() {
  await close();
  const pc = new RTCPeerConnection();
  connection = { pc, candidates: [], isConnected: false, startedAt: null };
  for (const kind of ["audio", "video"]) {
    const track = stream?.getTracks().find((candidate) => candidate.kind === kind);
    const direction = !track ? "recvonly" : options.receive ? "sendrecv" : "sendonly";
    const transceiver = pc.addTransceiver(track ?? kind, { direction, streams: stream ? [stream] : [] });
    if (kind === "video" && options.codec) {
      const codecs = RTCRtpReceiver.getCapabilities("video").codecs;
      const name = `video/${options.codec}`.toLowerCase();
      transceiver.setCodecPreferences(codecs.filter((codec) =>
        codec.mimeType.toLowerCase() === name || codec.mimeType.toLowerCase() === "video/rtx"));
    }
  }
  pc.onicecandidate = ({ candidate }) => {
    if (!candidate?.candidate) return;
    socket.emit("message", options.room, {
      type: "candidate", label: candidate.sdpMLineIndex, id: candidate.sdpMid, candidate: candidate.candidate,
    });
  };
  pc.ontrack = ({ track }) => {
    const element = document.getElementById(track.kind === "video" ? "remote" : "sound");
    element.srcObject = new MediaStream([track]);
  };
  pc.onconnectionstatechange = () => {
    report({ event: pc.connectionState, at: Date.now() / 1000 });
    if (pc.connectionState === "connected" && !connection.isConnected) connected();
  };
}

function connected() {
  connection.isConnected = true;
  connection.startedAt = performance.now();
  const every = (seconds, work) => { if (seconds > 0) timers.push(setInterval(work, seconds * 1000)); };
  every(options.muteCycle, () => {
    for (const track of stream.getTracks()) track.enabled = !track.enabled;
    report({ event: "muted", value: !stream.getTracks()[0].enabled });
  });
  every(options.resize, async () => {
    const sender = connection.pc.getSenders().find((candidate) => candidate.track?.kind === "video");
    const parameters = sender.getParameters();
    const encoding = parameters.encodings[0];
    encoding.scaleResolutionDownBy = encoding.scaleResolutionDownBy === 2 ? 1 : 2;
    await sender.setParameters(parameters);
    report({ event: "resized", scale: encoding.scaleResolutionDownBy });
  });
  every(options.holdCycle, inOrder(async () => {
    const held = connection.pc.getTransceivers()[0].direction === "inactive";
    for (const transceiver of connection.pc.getTransceivers()) transceiver.direction = held ? "sendrecv" : "inactive";
    await offer();
    report({ event: "held", value: !held });
  }));
}

async function send(description) {
  let sdp = description.sdp;
  if (options.alterFingerprint) {
    sdp = sdp.replace(/(a=fingerprint:\S+ )(..)/g, (line, start, octet) => start + (octet === "00" ? "01" : "00"));
  }
  socket.emit("message", options.room, { type: description.type, sdp });
}

async function offer() {
  await connection.pc.setLocalDescription(await connection.pc.createOffer());
  await send(connection.pc.localDescription);
}

const session = (description) => /^o=(.*) \d+ IN/m.exec(description?.sdp ?? "")?.[1];

async function message(data) {
  if (data?.type === "offer") {
    if (!connection || session(connection.pc.remoteDescription) !== session(data)) await open();
    await connection.pc.setRemoteDescription(data);
    await flush();
    await connection.pc.setLocalDescription(await connection.pc.createAnswer());
    await send(connection.pc.localDescription);
  } else if (data?.type === "answer" && connection?.pc.signalingState === "have-local-offer") {
    await connection.pc.setRemoteDescription(data);
    await flush();
  } else if (data?.type === "candidate" && connection) {
    connection.candidates.push({ candidate: data.candidate, sdpMLineIndex: Number(data.label) });
    if (connection.pc.remoteDescription) await flush();
  }
}

async function flush() {
  for (const candidate of connection.candidates.splice(0)) {
    await connection.pc.addIceCandidate(candidate).catch((error) => report({ event: "candidate", reason: String(error) }));
  }
}

async function figures() {
  if (!connection) return {};
  const result = { connected: connection.isConnected };
  if (connection.startedAt) result.seconds = (performance.now() - connection.startedAt) / 1000;
  const stats = await connection.pc.getStats();
  const take = (entry, names) => { for (const name of names) result[name] = (result[name] ?? 0) + (entry[name] ?? 0); };
  for (const entry of stats.values()) {
    if (entry.type === "outbound-rtp" && entry.kind === "video") {
      take(entry, ["framesSent", "framesEncoded", "keyFramesEncoded"]);
      result.codecSent = stats.get(entry.codecId)?.mimeType;
      result.sizeSent = [entry.frameWidth, entry.frameHeight];
      result.pliReceived = entry.pliCount;
    } else if (entry.type === "outbound-rtp" && entry.kind === "audio") {
      result.audioPacketsSent = entry.packetsSent;
    } else if (entry.type === "inbound-rtp" && entry.kind === "video") {
      take(entry, ["framesReceived", "framesDecoded", "keyFramesDecoded", "framesDropped"]);
      result.codecReceived = stats.get(entry.codecId)?.mimeType;
      result.sizeReceived = [entry.frameWidth, entry.frameHeight];
    } else if (entry.type === "inbound-rtp" && entry.kind === "audio") {
      result.audioPacketsReceived = entry.packetsReceived;
      result.audioPacketsLost = entry.packetsLost;
      result.concealedSamples = entry.concealedSamples;
    }
  }
  return result;
}

async function close() {
  if (!connection) return;
  for (const timer of timers.splice(0)) clearInterval(timer);
  const last = await figures();
  connection.pc.onconnectionstatechange = null;
  connection.pc.close();
  connection = null;
  report({ event: "closed", at: Date.now() / 1000, ...last });
}

// Ends our part: figures, `leave`, and the answer to it or two seconds.
async function leavePeer() {
  await inOrder(close)();
  if (!ownID || socket.isClosed) return;
  await new Promise((resolve) => {
    socket.on("leaved", resolve);
    socket.emit("leave", options.room);
    setTimeout(resolve, 2000);
  });
  socket.closed("left");
}
