// SPDX-License-Identifier: Apache-2.0
// Makes the browser describe itself in many ways and posts each description to capture_descriptions.py.
"use strict";

const peer = new URLSearchParams(location.search).get("peer");
const isPlanB = peer.endsWith("plan-b");

const save = (name, description) =>
  fetch(`/save/${name}.${description.type}`, { method: "POST", body: description.sdp });
const ours = async (name) => ({ type: "offer", sdp: await (await fetch(`/${name}.sdp`)).text() });
const connection = (constraints) =>
  isPlanB ? new RTCPeerConnection({ sdpSemantics: "plan-b" }, constraints) : new RTCPeerConnection();

/** A camera and a microphone without devices. */
function makeStream({ audio = true, video = true } = {}) {
  const stream = new MediaStream();
  if (audio) {
    const context = new AudioContext();
    const destination = context.createMediaStreamDestination();
    const tone = context.createOscillator();
    tone.connect(destination);
    tone.start();
    stream.addTrack(destination.stream.getAudioTracks()[0]);
  }
  if (video) {
    const canvas = document.createElement("canvas");
    const painter = canvas.getContext("2d");
    setInterval(() => painter.fillRect(0, 0, Math.random() * 200, 100), 50);
    stream.addTrack(canvas.captureStream(20).getVideoTracks()[0]);
  }
  return stream;
}

function send(pc, stream) {
  if (isPlanB) pc.addStream(stream);
  else for (const track of stream.getTracks()) pc.addTrack(track, stream);
}

function gathered(pc) {
  return new Promise((resolve) => {
    const look = () => pc.iceGatheringState === "complete" && resolve();
    pc.addEventListener("icegatheringstatechange", look);
    setTimeout(resolve, 5000);
    look();
  });
}

/** Offers, keeps the offer (whole, with candidates, when asked), and lets another connection of the page answer. */
async function offer(name, pc, other, { waits = false, options } = {}) {
  await pc.setLocalDescription(await pc.createOffer(options));
  if (waits) await gathered(pc);
  await save(name, pc.localDescription);
  if (!other) return;
  await other.setRemoteDescription(pc.localDescription);
  await other.setLocalDescription(await other.createAnswer());
  await pc.setRemoteDescription(other.localDescription);
}

/** Answers an offer of Tapedeck. */
async function answer(name, offerName, prepare) {
  const pc = connection();
  await pc.setRemoteDescription(await ours(offerName));
  prepare(pc);
  await pc.setLocalDescription(await pc.createAnswer());
  await gathered(pc);
  await save(name, pc.localDescription);
  return pc;
}

const kindOf = (transceiver) => transceiver.receiver.track.kind;

function preferVP9(transceiver) {
  const codecs = RTCRtpReceiver.getCapabilities("video").codecs;
  transceiver.setCodecPreferences(codecs.filter((codec) => /\/(vp9|rtx)$/i.test(codec.mimeType)));
}

const unified = {
  async session() {
    const [pc, other] = [connection(), connection()];
    send(pc, makeStream());
    await offer(`${peer}-1-audio-video`, pc, other);
    const video = pc.getTransceivers()[1];
    video.direction = "inactive";
    await offer(`${peer}-2-video-inactive`, pc, other);
    video.direction = "sendonly";
    await offer(`${peer}-3-video-sendonly`, pc, other);
    pc.createDataChannel("notes");
    await offer(`${peer}-4-with-data`, pc, other);
    send(pc, makeStream({ audio: false }));
    await offer(`${peer}-5-second-video`, pc, other);
    await offer(`${peer}-6-restart-ice`, pc, other, { waits: true, options: { iceRestart: true } });
    video.stop();
    await offer(`${peer}-7-stopped-video`, pc, other);
    send(pc, makeStream({ audio: false }));
    await offer(`${peer}-8-recycled`, pc, other);
    pc.getTransceivers()[0].stop();
    await offer(`${peer}-9-stopped-tag`, pc, other);
  },
  async gathered() {
    const pc = connection();
    send(pc, makeStream());
    await offer(`${peer}-gathered`, pc, null, { waits: true });
  },
  async dataFirst() {
    const pc = connection();
    pc.createDataChannel("notes");
    await offer(`${peer}-data-only`, pc, connection());
    send(pc, makeStream());
    await offer(`${peer}-data-first`, pc);
  },
  async simulcast() {
    const pc = connection();
    pc.addTransceiver(makeStream({ audio: false }).getTracks()[0], {
      direction: "sendonly",
      sendEncodings: [{ rid: "l", scaleResolutionDownBy: 4 }, { rid: "m", scaleResolutionDownBy: 2 }, { rid: "h" }],
    });
    await offer(`${peer}-simulcast`, pc);
  },
  async receiveOnly() {
    const pc = connection();
    for (const kind of ["audio", "video"]) pc.addTransceiver(kind, { direction: "recvonly" });
    await offer(`${peer}-receive-only`, pc);
  },
  async vp9() {
    const pc = connection();
    send(pc, makeStream());
    preferVP9(pc.getTransceivers()[1]);
    await offer(`${peer}-vp9`, pc);
  },
  async answers() {
    const pc = await answer(`${peer}-to-recvonly`, "tapedeck-recvonly", (each) => send(each, makeStream()));
    send(pc, makeStream({ audio: false }));
    await pc.setLocalDescription(await pc.createOffer());
    await fetch(`/save/${peer}-after-answer.reoffer`, { method: "POST", body: pc.localDescription.sdp });
    await answer(`${peer}-to-sendrecv`, "tapedeck-sendrecv", (each) => send(each, makeStream()));
    await answer(`${peer}-receives-sendrecv`, "tapedeck-sendrecv", () => {});
    await answer(`${peer}-audio-stopped-vp9`, "tapedeck-recvonly", (each) => {
      send(each, makeStream({ audio: false }));
      for (const transceiver of each.getTransceivers()) {
        if (kindOf(transceiver) === "audio") transceiver.stop();
        else preferVP9(transceiver);
      }
    });
  },
};

const planB = {
  async session() {
    const [pc, other] = [connection(), connection()];
    const second = makeStream();
    send(pc, makeStream());
    await offer(`${peer}-1-audio-video`, pc, other);
    send(pc, second);
    await offer(`${peer}-2-two-streams`, pc, other);
    pc.removeStream(second);
    await offer(`${peer}-3-one-stream-again`, pc, other);
    pc.createDataChannel("notes");
    await offer(`${peer}-4-with-data`, pc, other);
    await offer(`${peer}-5-restart-ice`, pc, other, { waits: true, options: { iceRestart: true } });
  },
  async receiveOnly() {
    const options = { offerToReceiveAudio: true, offerToReceiveVideo: true };
    await offer(`${peer}-receive-only`, connection(), null, { options });
  },
  async sdes() {
    const pc = connection({ mandatory: { DtlsSrtpKeyAgreement: false } });
    send(pc, makeStream());
    await offer(`${peer}-sdes`, pc);
  },
  async answers() {
    await answer(`${peer}-to-recvonly`, "tapedeck-recvonly", (each) => send(each, makeStream()));
    await answer(`${peer}-to-sendrecv`, "tapedeck-sendrecv", (each) => send(each, makeStream()));
    await answer(`${peer}-two-streams-to-sendrecv`, "tapedeck-sendrecv", (each) => {
      send(each, makeStream());
      send(each, makeStream({ audio: false }));
    });
    await answer(`${peer}-receives-sendrecv`, "tapedeck-sendrecv", () => {});
  },
};

(async () => {
  for (const [name, scenario] of Object.entries(isPlanB ? planB : unified)) {
    await scenario().catch((error) => fetch("/failed", { method: "POST", body: `${name}: ${error}` }));
  }
  await fetch("/done", { method: "POST", body: navigator.userAgent });
})();
