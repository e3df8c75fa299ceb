// SPDX-License-Identifier: Apache-2.0
// A member of a room, after the rules of the course's browser client. browser_peer.py starts it with startPeer(options)
// and is told what happens through report(facts).
//
// A room for two has one connection, under the name "". In a mesh room of `tapedeck serve` there is one for each other
// member: messages name their addressee in `to`, and the server writes their sender into `from`.

let options, socket, stream, ownID;
let isMesh = false;
const connections = new Map();
let chain = Promise.resolve();

// Socket events are worked off one after the other.
const inOrder = (work) => (...values) => {
  chain = chain.then(() => work(...values)).catch((error) => report({ event: "error", reason: String(error) }));
  return chain;
};

async function startPeer(given) {
  options = given;
  if (options.send && options.painted) {
    stream = new MediaStream([paintedTrack()]);
  } else if (options.send) {
    const [width, height] = options.size;
    stream = await navigator.mediaDevices.getUserMedia({
      audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false },
      video: { width, height, frameRate: options.fps },
    });
  }
  if (options.stereo) {
    stream.removeTrack(trackOf("audio"));
    stream.addTrack(tones());
  }
  socket = options.sky ? new SkyRTCSocket(options.url) : new RoomSocket(options.url, options.eio, options.transport);
  socket.on("joined", inOrder((room, id, details) => {
    if (ownID) return;
    ownID = id;
    isMesh = details?.mesh === true;
    report({ event: "joined", room, id });
  }));
  socket.on("otherjoin", inOrder(async (room, id) => {
    if (id === ownID) return;
    const connection = await open(memberOf(id));
    for (const kind of options.dataFirst ? [] : ["audio", "video"]) {
      if (!trackOf(kind)) connection.pc.addTransceiver(kind, { direction: "recvonly" });
    }
    preferCodec(connection.pc);
    await offer(connection);
  }));
  socket.on("message", inOrder((room, ...rest) => {
    return message(rest.filter((value) => value && typeof value === "object").pop());
  }));
  socket.on("bye", inOrder((room, id) => close(memberOf(id))));
  socket.on("full", () => report({ event: "full" }));
  socket.on("leaved", () => report({ event: "leaved" }));
  socket.on("closed", (reason) => report({ event: "disconnected", reason }));
  await socket.connect();
  socket.emit("join", options.room);
}

const trackOf = (kind) => stream?.getTracks().find((track) => track.kind === kind);

// A receive-only transceiver is made by the offerer only: an answerer's would not be matched with the offer's sections.
function preferCodec(pc) {
  for (const transceiver of pc.getTransceivers()) {
    if (transceiver.sender.track && !options.receive) transceiver.direction = "sendonly";
    const wanted = options.codec ?? options.prefer;
    if (transceiver.receiver.track.kind !== "video" || !wanted) continue;
    const isOther = ({ mimeType }) => mimeType.toLowerCase() !== `video/${wanted}`;
    const { codecs } = RTCRtpReceiver.getCapabilities("video");
    const taken = options.codec ? codecs.filter((codec) => !isOther(codec) || codec.mimeType === "video/rtx") : codecs;
    // Sorting keeps the order of equals.
    transceiver.setCodecPreferences(taken.sort((one, two) => isOther(one) - isOther(two)));
  }
}

// Another tone in each ear.
function tones() {
  const context = new AudioContext();
  const merger = context.createChannelMerger(2);
  const destination = context.createMediaStreamDestination();
  for (const [channel, frequency] of [[0, 440], [1, 1760]]) {
    const oscillator = new OscillatorNode(context, { frequency });
    oscillator.connect(merger, 0, channel);
    oscillator.start();
  }
  merger.connect(destination);
  return destination.stream.getAudioTracks()[0];
}

const memberOf = (id) => (isMesh ? id ?? "" : "");

function emit(member, data) {
  socket.emit("message", options.room, isMesh ? { ...data, to: member } : data);
}

async function open(member) {
  await close(member);
  const pc = new RTCPeerConnection();
  const connection = { pc, member, candidates: [], timers: [], isConnected: false, startedAt: null,
    frames: {}, sources: 0 };
  connections.set(member, connection);
  if (options.dataFirst) pc.chat = pc.createDataChannel("words");
  else addMedia(pc);
  if (options.channel) pc.chat = pc.createDataChannel("chat");
  pc.onicecandidate = ({ candidate }) => {
    if (!candidate?.candidate) return;
    emit(member, {
      type: "candidate", label: candidate.sdpMLineIndex, id: candidate.sdpMid, candidate: candidate.candidate,
    });
  };
  pc.ontrack = ({ track }) => {
    const element = document.body.appendChild(document.createElement(track.kind));
    element.autoplay = true;
    element.muted = true;
    element.srcObject = new MediaStream([track]);
  };
  pc.onconnectionstatechange = () => {
    report({ event: pc.connectionState, at: Date.now() / 1000 });
    if (pc.connectionState === "connected" && !connection.isConnected) connected(connection);
  };
  return connection;
}

function addMedia(pc) {
  for (const kind of ["audio", "video"]) {
    const track = trackOf(kind);
    if (!track) continue;
    if (kind === "video" && (options.layers.length || options.spatial)) {
      const sendEncodings = options.spatial ? [{ scalabilityMode: `L${options.spatial}T1_KEY` }]
        : options.layers.map(([rid, scaleResolutionDownBy]) => ({ rid, scaleResolutionDownBy }));
      pc.addTransceiver(track, { direction: "sendonly", streams: [stream], sendEncodings });
    } else pc.addTrack(track, stream);
  }
}

// Pictures that change 30 times a second, beside those of the camera.
function paintedTrack() {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = options.size;
  const context = canvas.getContext("2d");
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
    context.fillStyle = `hsl(${count % 360}, 80%, 50%)`;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = "black";
    context.fillRect((count * 7) % canvas.width, (count * 5) % canvas.height, 40, 40);
  }, 1000 / 30);
  const [track] = canvas.captureStream(30).getVideoTracks();
  track.addEventListener("ended", () => clearInterval(timer));
  return track;
}

// What renegotiates a call under way; those that take a track away return its transceiver.
const changes = {
  "add media": (pc) => { addMedia(pc); },
  "add screen": (pc) => {
    const transceiver = pc.addTransceiver(paintedTrack(), { direction: "sendonly", streams: [new MediaStream()] });
    transceiver.isScreen = true;
  },
  "add sound": (pc) => { pc.addTransceiver(tones(), { direction: "sendonly", streams: [new MediaStream()] }); },
  // The camera that is received moves to the other m-line.
  "other receiver": (pc) => {
    const [first, other = pc.addTransceiver("video", { direction: "inactive" })] = pc.getTransceivers()
      .filter(({ receiver }) => receiver.track.kind === "video");
    [first.direction, other.direction] = [other.direction, first.direction];
  },
  "add receiver": (pc) => { pc.addTransceiver("video", { direction: "recvonly" }); },
  "remove receiver": (pc) => pc.getTransceivers()
    .find(({ receiver, direction }) => receiver.track.kind === "video" && direction === "recvonly"),
  "add channel": (pc) => { pc.chat = pc.createDataChannel("later"); },
  "remove screen": (pc) => pc.getTransceivers().findLast((transceiver) => transceiver.isScreen),
  "remove camera": (pc) => pc.getTransceivers()
    .find(({ isScreen, sender }) => !isScreen && sender.track?.kind === "video"),
  // Without a new description: the sender stays.
  "replace camera": async (pc) => {
    await pc.getSenders().find(({ track }) => track?.kind === "video").replaceTrack(paintedTrack());
  },
};

const senderOf = (pc, kind) => pc.getSenders().find(({ track }) => track?.kind === kind);

// What changes the media of a call under way; another codec or direction needs a new description.
const settings = {
  "scale": async (pc, factor) => {
    const sender = senderOf(pc, "video");
    const parameters = sender.getParameters();
    parameters.encodings[0].scaleResolutionDownBy = Number(factor);
    await sender.setParameters(parameters);
  },
  "camera": (pc, state) => { trackOf("video").enabled = state === "on"; },
  "microphone": (pc, state) => { trackOf("audio").enabled = state === "on"; },
  "direction": (pc, direction) => {
    for (const transceiver of pc.getTransceivers()) transceiver.direction = direction;
  },
  "codec": async (pc, codec) => {
    options.codec = codec;
    preferCodec(pc);
  },
  "sound": (pc, codec) => {
    const transceiver = pc.getTransceivers().find(({ receiver }) => receiver.track.kind === "audio");
    const { codecs } = RTCRtpSender.getCapabilities("audio");
    transceiver.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType.toLowerCase() === `audio/${codec}`));
  },
};

async function set(name, value) {
  return inOrder(async () => {
    for (const connection of connections.values()) {
      await settings[name](connection.pc, value);
      if (["codec", "direction", "sound"].includes(name)) await offer(connection);
      report({ event: "set", what: `${name} ${value}`, at: Date.now() / 1000 });
    }
  })();
}

// Makes a change and offers it. A track that goes is counted first: statistics forget it.
async function change(name, stops) {
  return inOrder(async () => {
    for (const connection of connections.values()) {
      const { pc } = connection;
      const transceiver = await changes[name](pc);
      if (transceiver) {
        await transceiver.sender.replaceTrack(null);
        await countFrames(connection);
        if (stops) transceiver.stop();
        else pc.removeTrack(transceiver.sender);
      }
      if (name !== "replace camera") await offer(connection);
      report({ event: "changed", change: name, frames: connection.frames });
    }
  })();
}

// Writes into the data channel of every connection, once it is open.
async function write(text) {
  for (const { pc } of connections.values()) {
    if (pc.chat.readyState !== "open") await new Promise((resolve) => { pc.chat.onopen = resolve; });
    pc.chat.send(text);
    report({ event: "wrote", text, at: Date.now() / 1000 });
  }
}

// Keeps the frames sent by each source so far, and says how many sources are really under way.
async function countFrames(connection) {
  Object.assign(connection.frames, (await figures(connection.pc)).framesOfSources);
  const count = Object.values(connection.frames).filter((frames) => frames >= 40).length;
  if (count <= connection.sources) return;
  connection.sources = count;
  report({ event: "sources", count });
}

function connected(connection) {
  connection.isConnected = true;
  connection.startedAt = performance.now();
  const every = (seconds, work) => {
    if (seconds > 0) connection.timers.push(setInterval(work, seconds * 1000));
  };
  every(0.25, () => countFrames(connection));
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
    await offer(connection);
    report({ event: "held", value: !held });
  }));
}

function send(connection, description) {
  let sdp = description.sdp;
  if (options.alterFingerprint) {
    sdp = sdp.replace(/(a=fingerprint:\S+ )(..)/g, (line, start, octet) => start + (octet === "00" ? "01" : "00"));
  }
  if (options.stereo) sdp = inStereo(sdp);
  emit(connection.member, { type: description.type, sdp });
}

const inStereo = (sdp) => sdp.replace(/(useinbandfec=[01])/g, "$1;stereo=1;sprop-stereo=1");

async function offer(connection) {
  await connection.pc.setLocalDescription(await connection.pc.createOffer());
  send(connection, connection.pc.localDescription);
}

// New ICE credentials and ports for every connection, in a description of the same session.
async function restartAll() {
  for (const connection of connections.values()) {
    connection.pc.restartIce();
    await offer(connection);
  }
}

const session = (description) => /^o=(.*) \d+ IN/m.exec(description?.sdp ?? "")?.[1];

async function message(data) {
  const member = memberOf(data?.from);
  let connection = connections.get(member);
  if (data?.type === "offer") {
    if (!connection || session(connection.pc.remoteDescription) !== session(data)) {
      connection = await open(member);
    }
    await connection.pc.setRemoteDescription(data);
    await flush(connection);
    preferCodec(connection.pc);
    // Once, so that `direction` takes it after all.
    if (options.refuseVideo && !connection.isConnected) {
      for (const transceiver of connection.pc.getTransceivers()) {
        if (transceiver.receiver.track.kind === "video") transceiver.direction = "inactive";
      }
    }
    await connection.pc.setLocalDescription(await connection.pc.createAnswer());
    send(connection, connection.pc.localDescription);
  } else if (data?.type === "answer" && connection?.pc.signalingState === "have-local-offer") {
    await connection.pc.setRemoteDescription(data);
    await flush(connection);
    report({ event: "answered" });
  } else if (data?.type === "candidate" && connection) {
    connection.candidates.push({ candidate: data.candidate, sdpMLineIndex: Number(data.label) });
    if (connection.pc.remoteDescription) await flush(connection);
  }
}

async function flush(connection) {
  for (const candidate of connection.candidates.splice(0)) {
    await connection.pc.addIceCandidate(candidate)
      .catch((error) => report({ event: "candidate refused", reason: String(error) }));
  }
}

async function close(member) {
  const connection = connections.get(member);
  if (!connection) return;
  connections.delete(member);
  for (const timer of connection.timers) clearInterval(timer);
  const last = await figures(connection.pc);
  Object.assign(connection.frames, last.framesOfSources);
  connection.pc.onconnectionstatechange = null;
  connection.pc.close();
  const seconds = connection.startedAt ? (performance.now() - connection.startedAt) / 1000 : 0;
  report({ event: "closed", at: Date.now() / 1000, connected: connection.isConnected, seconds, ...last,
    framesOfSources: connection.frames });
}

async function allFigures() {
  return Promise.all([...connections.values()].map((connection) => figures(connection.pc)));
}

// The connections stay, nothing more is sent: what was sent by now can be counted.
async function stopSending() {
  const senders = [...connections.values()].flatMap(({ pc }) => pc.getSenders());
  await Promise.all(senders.map((sender) => sender.replaceTrack(null)));
}

// Ends our part: figures, `leave`, and the answer to it or two seconds.
async function leavePeer() {
  for (const member of [...connections.keys()]) await inOrder(close)(member);
  if (!ownID || socket.isClosed) return;
  await new Promise((resolve) => {
    socket.on("leaved", resolve);
    socket.emit("leave", options.room);
    setTimeout(resolve, 2000);
  });
  socket.closed("left");
}
