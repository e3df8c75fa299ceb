// SPDX-License-Identifier: Apache-2.0
// What a peer connection sent and received so far.

async function figures(pc) {
  const result = {};
  const stats = await pc.getStats();
  const take = (entry, names) => { for (const name of names) result[name] = (result[name] ?? 0) + (entry[name] ?? 0); };
  for (const entry of stats.values()) {
    if (entry.type === "outbound-rtp" && entry.kind === "video") {
      take(entry, ["framesSent", "framesEncoded", "keyFramesEncoded"]);
      result.framesOfSources = { ...result.framesOfSources, [entry.ssrc]: entry.framesSent };
      result.videoPacketsSent = entry.packetsSent;
      result.codecSent = stats.get(entry.codecId)?.mimeType;
      result.sizeSent = [entry.frameWidth, entry.frameHeight];
      result.pliReceived = entry.pliCount;
    } else if (entry.type === "outbound-rtp" && entry.kind === "audio") {
      result.audioPacketsSent = entry.packetsSent;
    } else if (entry.type === "inbound-rtp" && entry.kind === "video") {
      take(entry, ["framesReceived", "framesDecoded", "keyFramesDecoded", "framesDropped",
        "freezeCount", "totalFreezesDuration"]);
      result[`framesDecodedOn${entry.mid}`] = entry.framesDecoded;
      result.codecReceived = stats.get(entry.codecId)?.mimeType;
      result.sizeReceived = [entry.frameWidth, entry.frameHeight];
    } else if (entry.type === "candidate-pair" && entry.nominated) {
      take(entry, ["bytesReceived"]);
      result.availableOutgoingBitrate = Math.max(result.availableOutgoingBitrate ?? 0, entry.availableOutgoingBitrate ?? 0);
    } else if (entry.type === "inbound-rtp" && entry.kind === "audio") {
      result.audioPacketsReceived = entry.packetsReceived;
      result.audioPacketsLost = entry.packetsLost;
      result.concealedSamples = entry.concealedSamples;
    }
  }
  return result;
}
