// SPDX-License-Identifier: Apache-2.0

#include "rtp_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rtcp.h"
#include "receive/rtp_header.h"
#include "rtp_security.h"

enum {
    // Limit of encrypted packets: a packet from a peer is no larger than its network carries.
    MAXIMUM_PACKET = 9000,
    // RFC 3550 appendix A.1.
    MAXIMUM_MISORDER = 100,
    KNOWN_RECEIVERS = 256,
    // Datagrams of receivers that are read at one time.
    MAXIMUM_READ = 4,
    // Pairs of free ports that are tried.
    MAXIMUM_TRIES = 32,
};

#define REPORT_INTERVAL ((int64_t)1000000000)
#define LISTEN_INTERVAL ((int64_t)20000000)
// With more receivers than are remembered, each seems to be new.
#define WELCOME_INTERVAL ((int64_t)10000000000)
// Remote hosts report at most once a second that no one listens; this host reports it with every packet.
#define SILENCE_OF_ERRORS ((int64_t)2500000000)
// While an encrypted stream has no receiver, a packet each 100 ms tries whether there is one.
#define PROBE_INTERVAL ((int64_t)100000000)
// Half of the sequence numbers: a receiver that starts soon afterwards still guesses the roll-over counter (RFC 3711
// section 3.3.1) as 0.
#define MAXIMUM_NUMBERS ((uint64_t)1 << 15)

struct CTapedeckRTPStream {
    gatomicrefcount references;
    GMutex lock;
    int rtp;
    int rtcp;
    struct sockaddr_storage rtcp_target;
    socklen_t rtcp_target_size;
    bool is_multicast;
    bool is_loopback;
    uint32_t ssrc;
    char cname[64];
    // NULL if packets go as they are.
    RTPSecurity *security;

    RTPSource source;
    bool has_source;
    // The next packet is the first of its source.
    bool is_fresh;
    uint16_t sequence_offset;
    uint32_t time_offset;
    // Sequence numbers since the stream was opened, those of lost packets as well.
    uint64_t numbers;

    // The newest packet, as it was sent.
    bool has_sent;
    uint16_t last_sequence;
    uint32_t last_time;
    int64_t last_sent_at;

    int64_t last_report_at;
    int64_t last_listened_at;
    uint32_t receivers[KNOWN_RECEIVERS];
    uint32_t receiver_count;
    int64_t last_welcome_at;

    // There was no receiver when the last error came.
    bool is_refused;
    int64_t refused_at;
    uint32_t sent_since_refusal;
    // Bytes without headers, as sender reports count them.
    uint32_t payload_bytes;
    CTapedeckRTPStreamCounters counters;
};

// MARK: Sockets

static bool resolve(const char *address, uint16_t port, struct sockaddr_storage *target, socklen_t *size) {
    char service[8];
    g_snprintf(service, sizeof(service), "%u", port);
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (getaddrinfo(address, service, &hints, &found) != 0) return false;
    memcpy(target, found->ai_addr, found->ai_addrlen);
    *size = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static void classify(CTapedeckRTPStream *stream) {
    if (stream->rtcp_target.ss_family == AF_INET6) {
        const struct in6_addr *address = &((struct sockaddr_in6 *)&stream->rtcp_target)->sin6_addr;
        stream->is_multicast = IN6_IS_ADDR_MULTICAST(address);
        stream->is_loopback = IN6_IS_ADDR_LOOPBACK(address);
    } else {
        uint32_t address = ntohl(((struct sockaddr_in *)&stream->rtcp_target)->sin_addr.s_addr);
        stream->is_multicast = IN_MULTICAST(address);
        stream->is_loopback = address >> 24 == 127;
    }
}

static void set_port(struct sockaddr_storage *address, uint16_t port) {
    // The port is at the same offset in both families.
    ((struct sockaddr_in *)address)->sin_port = htons(port);
}

static uint16_t port_of(int descriptor) {
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) return 0;
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

// The wildcard address, and no port.
static struct sockaddr_storage any_address(int family) {
    struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
    return address;
}

static int open_socket(int family) { return socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

static bool bind_port(int descriptor, struct sockaddr_storage *address, socklen_t size, uint16_t port) {
    set_port(address, port);
    return bind(descriptor, (struct sockaddr *)address, size) == 0;
}

// Binds RTP to an even port and RTCP to the one above it (RFC 3550 section 11).
static bool bind_pair(CTapedeckRTPStream *stream, socklen_t size, uint16_t source_port) {
    int family = stream->rtcp_target.ss_family;
    struct sockaddr_storage local = any_address(family);
    for (int attempt = 0; attempt < MAXIMUM_TRIES; attempt++) {
        stream->rtp = open_socket(family);
        stream->rtcp = open_socket(family);
        if (stream->rtp < 0 || stream->rtcp < 0) return false;
        if (source_port != 0) {
            return bind_port(stream->rtp, &local, size, source_port) &&
                   bind_port(stream->rtcp, &local, size, (uint16_t)(source_port + 1));
        }
        if (!bind_port(stream->rtp, &local, size, 0)) return false;
        uint16_t port = port_of(stream->rtp);
        if (port % 2 == 0 && bind_port(stream->rtcp, &local, size, (uint16_t)(port + 1))) return true;
        close(stream->rtp);
        close(stream->rtcp);
        stream->rtp = stream->rtcp = -1;
    }
    errno = EADDRINUSE;
    return false;
}

// Receivers of a group send their reports to the group: RTCP is sent and heard at its port.
static bool bind_group(CTapedeckRTPStream *stream, uint16_t source_port, uint32_t interface) {
    int family = stream->rtcp_target.ss_family;
    struct sockaddr_storage local = any_address(family);
    int yes = 1;
    stream->rtp = open_socket(family);
    stream->rtcp = open_socket(family);
    if (stream->rtp < 0 || stream->rtcp < 0) return false;
    if (!bind_port(stream->rtp, &local, stream->rtcp_target_size, source_port)) return false;
    if (setsockopt(stream->rtcp, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(stream->rtcp, (struct sockaddr *)&stream->rtcp_target, stream->rtcp_target_size) != 0) {
        return false;
    }
    if (family == AF_INET6) {
        struct ipv6_mreq group = {.ipv6mr_multiaddr = ((struct sockaddr_in6 *)&stream->rtcp_target)->sin6_addr,
                                  .ipv6mr_interface = interface};
        return setsockopt(stream->rtcp, IPPROTO_IPV6, IPV6_JOIN_GROUP, &group, sizeof(group)) == 0;
    }
    struct ip_mreqn group = {.imr_multiaddr = ((struct sockaddr_in *)&stream->rtcp_target)->sin_addr,
                             .imr_ifindex = (int)interface};
    return setsockopt(stream->rtcp, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)) == 0;
}

static bool aim(int descriptor, int family, bool is_multicast, int time_to_live, uint32_t interface) {
    if (family == AF_INET6) {
        int hops = is_multicast ? IPV6_MULTICAST_HOPS : IPV6_UNICAST_HOPS;
        if (setsockopt(descriptor, IPPROTO_IPV6, hops, &time_to_live, sizeof(time_to_live)) != 0) return false;
        return !is_multicast || interface == 0 ||
               setsockopt(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_IF, &interface, sizeof(interface)) == 0;
    }
    int option = is_multicast ? IP_MULTICAST_TTL : IP_TTL;
    if (setsockopt(descriptor, IPPROTO_IP, option, &time_to_live, sizeof(time_to_live)) != 0) return false;
    struct ip_mreqn device = {.imr_ifindex = (int)interface};
    return !is_multicast || interface == 0 ||
           setsockopt(descriptor, IPPROTO_IP, IP_MULTICAST_IF, &device, sizeof(device)) == 0;
}

static bool open_sockets(CTapedeckRTPStream *stream, const CTapedeckRTPTarget *target) {
    struct sockaddr_storage rtp_target;
    socklen_t size;
    errno = EADDRNOTAVAIL;
    if (!resolve(target->address, target->port, &rtp_target, &size)) return false;
    stream->rtcp_target = rtp_target;
    stream->rtcp_target_size = size;
    set_port(&stream->rtcp_target, (uint16_t)(target->port + 1));
    classify(stream);
    uint32_t interface = 0;
    if (target->interface != NULL) {
        interface = if_nametoindex(target->interface);
        if (interface == 0) return false;
    }
    int family = rtp_target.ss_family;
    bool is_bound = stream->is_multicast ? bind_group(stream, target->source_port, interface)
                                         : bind_pair(stream, size, target->source_port);
    return is_bound && aim(stream->rtp, family, stream->is_multicast, target->time_to_live, interface) &&
           aim(stream->rtcp, family, stream->is_multicast, target->time_to_live, interface) &&
           connect(stream->rtp, (struct sockaddr *)&rtp_target, size) == 0;
}

static void close_sockets(CTapedeckRTPStream *stream) {
    if (stream->rtp >= 0) close(stream->rtp);
    if (stream->rtcp >= 0) close(stream->rtcp);
    stream->rtp = stream->rtcp = -1;
}

CTapedeckRTPStream *CTapedeck_rtp_stream_new(const CTapedeckRTPTarget *target, int *error) {
    CTapedeckRTPStream *stream = g_new0(CTapedeckRTPStream, 1);
    g_atomic_ref_count_init(&stream->references);
    g_mutex_init(&stream->lock);
    stream->rtp = stream->rtcp = -1;
    stream->ssrc = target->ssrc;
    g_strlcpy(stream->cname, target->cname, sizeof(stream->cname));
    if (target->key != NULL) stream->security = rtp_security_new(target->ssrc, target->key);
    bool is_secure = target->key == NULL || stream->security != NULL;
    if (is_secure && open_sockets(stream, target)) {
        stream->counters.source_port = port_of(stream->rtp);
        return stream;
    }
    *error = is_secure ? errno : EPROTONOSUPPORT;
    CTapedeck_rtp_stream_unref(stream);
    return NULL;
}

CTapedeckRTPStream *rtp_stream_ref(CTapedeckRTPStream *stream) {
    g_atomic_ref_count_inc(&stream->references);
    return stream;
}

void CTapedeck_rtp_stream_unref(CTapedeckRTPStream *stream) {
    if (!g_atomic_ref_count_dec(&stream->references)) return;
    close_sockets(stream);
    if (stream->security != NULL) rtp_security_free(stream->security);
    g_mutex_clear(&stream->lock);
    g_free(stream);
}

CTapedeckRTPStreamCounters CTapedeck_rtp_stream_counters(CTapedeckRTPStream *stream) {
    g_mutex_lock(&stream->lock);
    CTapedeckRTPStreamCounters counters = stream->counters;
    counters.is_worn = stream->security != NULL && stream->is_refused && stream->numbers > MAXIMUM_NUMBERS;
    g_mutex_unlock(&stream->lock);
    return counters;
}

// MARK: RTCP

// The packet that was sent last is the instant of the report: receivers compare it with what they have just got.
static bool send_report(CTapedeckRTPStream *stream, bool is_last) {
    uint64_t ntp_time;
    uint32_t rtp_time;
    uint8_t packet[RTCP_MAXIMUM_SIZE + RTP_SECURITY_GROWTH];
    size_t size = 0;
    if (stream->has_source && stream->has_sent && !stream->is_fresh &&
        CTapedeck_receiver_sender_clock(stream->source.receiver, stream->source.ssrc, &ntp_time, &rtp_time)) {
        int32_t ticks = (int32_t)(stream->last_time - stream->time_offset - rtp_time);
        RTCPSenderInfo info = {
            .ntp_time = rtcp_ntp_after(ntp_time, ticks, stream->source.clock_rate),
            .rtp_time = stream->last_time,
            .packets = (uint32_t)stream->counters.packets,
            .bytes = stream->payload_bytes,
        };
        size = rtcp_write_sender_report(packet, stream->ssrc, &info);
    } else if (is_last) {
        size = rtcp_write_empty_report(packet, stream->ssrc);
    } else {
        return false;
    }
    size += rtcp_write_name(packet + size, stream->ssrc, stream->cname);
    if (is_last) size += rtcp_write_goodbye(packet + size, stream->ssrc);
    if (stream->security != NULL && !rtp_security_protect_rtcp(stream->security, packet, &size)) return false;
    sendto(stream->rtcp, packet, size, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&stream->rtcp_target,
           stream->rtcp_target_size);
    stream->counters.reports += 1;
    return true;
}

void CTapedeck_rtp_stream_close(CTapedeckRTPStream *stream) {
    g_mutex_lock(&stream->lock);
    if (stream->rtcp >= 0 && stream->has_sent) send_report(stream, true);
    close_sockets(stream);
    stream->has_source = false;
    g_mutex_unlock(&stream->lock);
}

static bool is_from_target(const CTapedeckRTPStream *stream, const struct sockaddr_storage *sender) {
    if (stream->is_multicast) return true;
    if (sender->ss_family != stream->rtcp_target.ss_family) return false;
    if (sender->ss_family == AF_INET6) {
        return memcmp(&((struct sockaddr_in6 *)sender)->sin6_addr,
                      &((struct sockaddr_in6 *)&stream->rtcp_target)->sin6_addr, sizeof(struct in6_addr)) == 0;
    }
    return ((struct sockaddr_in *)sender)->sin_addr.s_addr ==
           ((struct sockaddr_in *)&stream->rtcp_target)->sin_addr.s_addr;
}

// Whether this receiver is a new one that is to be welcomed; a goodbye makes it one again.
static bool note_receiver(CTapedeckRTPStream *stream, uint32_t ssrc, bool has_left, int64_t now) {
    uint32_t known = MIN(stream->receiver_count, KNOWN_RECEIVERS);
    for (uint32_t index = 0; index < known; index++) {
        if (stream->receivers[index] != ssrc) continue;
        // A receiver has the SSRC 0 only by chance.
        if (has_left) stream->receivers[index] = 0;
        return false;
    }
    if (has_left || ssrc == stream->ssrc) return false;
    stream->receivers[stream->receiver_count % KNOWN_RECEIVERS] = ssrc;
    stream->receiver_count += 1;
    if (known == KNOWN_RECEIVERS && now - stream->last_welcome_at < WELCOME_INTERVAL) return false;
    stream->last_welcome_at = now;
    return true;
}

// Reads what receivers said. Returns whether one of them needs a keyframe.
static bool listen_to_receivers(CTapedeckRTPStream *stream, int64_t now) {
    bool is_wanted = false;
    for (int count = 0; count < MAXIMUM_READ; count++) {
        uint8_t datagram[1500];
        struct sockaddr_storage sender;
        socklen_t size = sizeof(sender);
        ssize_t length =
            recvfrom(stream->rtcp, datagram, sizeof(datagram), MSG_DONTWAIT, (struct sockaddr *)&sender, &size);
        if (length < 0) break;
        if (!is_from_target(stream, &sender)) continue;
        size_t news_size = (size_t)length;
        if (stream->security != NULL && !rtp_security_unprotect_rtcp(stream->security, datagram, &news_size)) continue;
        RTCPReader reader = {.data = datagram, .size = news_size};
        RTCPNews news;
        while (rtcp_read(&reader, stream->ssrc, &news)) {
            bool is_new = news.has_receiver && note_receiver(stream, news.receiver, news.has_left, now);
            if (is_new) stream->last_report_at = 0;
            if (!is_new && !news.wants_keyframe) continue;
            stream->counters.keyframe_requests += 1;
            is_wanted = true;
        }
    }
    return is_wanted;
}

// MARK: Packets

void rtp_stream_begin(CTapedeckRTPStream *stream, const RTPSource *source) {
    g_mutex_lock(&stream->lock);
    stream->has_source = source != NULL;
    if (source != NULL) stream->source = *source;
    stream->is_fresh = true;
    g_mutex_unlock(&stream->lock);
}

// A source begins where the one before it ended, as if packets had been lost in between. An encrypted stream begins
// with 1: a receiver that starts before the numbers wrap knows the roll-over counter, which is sent nowhere.
static void join_on(CTapedeckRTPStream *stream, uint16_t sequence, uint32_t time, int64_t now) {
    stream->is_fresh = false;
    if (!stream->has_sent) {
        if (stream->security != NULL) stream->sequence_offset = (uint16_t)(1 - sequence);
        return;
    }
    int64_t elapsed = MAX(now - stream->last_sent_at, 1000000);
    int64_t ticks = elapsed / 1000000 * stream->source.clock_rate / 1000;
    stream->sequence_offset = (uint16_t)(stream->last_sequence + 1 - sequence);
    stream->time_offset = stream->last_time + (uint32_t)MAX(ticks, 1) - time;
}

// Whether there is a receiver again where there was none.
static bool note_result(CTapedeckRTPStream *stream, bool is_sent, size_t payload, int64_t now) {
    if (!is_sent) {
        int error = errno;
        stream->counters.dropped += 1;
        stream->counters.last_error = error;
        if (error != ECONNREFUSED) return false;
        stream->is_refused = true;
        stream->refused_at = now;
        stream->sent_since_refusal = 0;
        return false;
    }
    stream->counters.packets += 1;
    stream->counters.bytes += RTP_FIXED_HEADER_SIZE + payload;
    stream->payload_bytes += (uint32_t)payload;
    if (!stream->is_refused) return false;
    // On this host every other packet reports a closed port.
    stream->sent_since_refusal += 1;
    if (stream->is_loopback ? stream->sent_since_refusal < 3 : now - stream->refused_at < SILENCE_OF_ERRORS) {
        return false;
    }
    stream->is_refused = false;
    stream->last_report_at = 0;
    stream->counters.keyframe_requests += 1;
    return true;
}

// Sends one packet, without waiting; errno has the reason of a failure.
static bool transmit(CTapedeckRTPStream *stream, const uint8_t *head, const uint8_t *payload, size_t size) {
    if (stream->security == NULL) {
        struct iovec parts[2] = {
            {.iov_base = (void *)(uintptr_t)head, .iov_len = RTP_FIXED_HEADER_SIZE},
            {.iov_base = (void *)(uintptr_t)payload, .iov_len = size},
        };
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        return sendmsg(stream->rtp, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    }
    uint8_t packet[MAXIMUM_PACKET + RTP_SECURITY_GROWTH];
    size_t length = RTP_FIXED_HEADER_SIZE + size;
    errno = EMSGSIZE;
    if (length > MAXIMUM_PACKET) return false;
    memcpy(packet, head, RTP_FIXED_HEADER_SIZE);
    memcpy(packet + RTP_FIXED_HEADER_SIZE, payload, size);
    // A number that was sent before, which encryption must not take twice.
    errno = EALREADY;
    if (!rtp_security_protect(stream->security, packet, &length)) return false;
    return send(stream->rtp, packet, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

// Whether a packet is left out as if its source had never sent it, to save numbers until there is a receiver.
static bool is_left_out(CTapedeckRTPStream *stream, int64_t now) {
    if (stream->security == NULL || !stream->is_refused) return false;
    if (now - stream->last_sent_at >= PROBE_INTERVAL) return false;
    stream->sequence_offset = (uint16_t)(stream->sequence_offset - 1);
    stream->counters.dropped += 1;
    return true;
}

// Extensions mean something to their own session only, and contributing sources are unknown here: both are left out.
static bool send_packet(CTapedeckRTPStream *stream, const uint8_t *packet, size_t size, int64_t now) {
    size_t header = rtp_header_size(packet, size);
    if (header == 0 || is_left_out(stream, now)) return false;
    uint16_t sequence = GST_READ_UINT16_BE(packet + 2);
    uint32_t time = GST_READ_UINT32_BE(packet + 4);
    bool is_wanted = stream->is_fresh;
    if (stream->is_fresh) join_on(stream, sequence, time, now);
    sequence = (uint16_t)(sequence + stream->sequence_offset);
    time += stream->time_offset;

    uint8_t head[RTP_FIXED_HEADER_SIZE];
    head[0] = (uint8_t)(0x80 | (packet[0] & 0x20));
    head[1] = (uint8_t)((packet[1] & 0x80) | stream->source.payload_type);
    GST_WRITE_UINT16_BE(head + 2, sequence);
    GST_WRITE_UINT32_BE(head + 4, time);
    GST_WRITE_UINT32_BE(head + 8, stream->ssrc);
    bool is_sent = transmit(stream, head, packet + header, size - header);
    is_wanted = note_result(stream, is_sent, size - header, now) || is_wanted;

    int16_t step = (int16_t)(sequence - stream->last_sequence);
    if (!stream->has_sent || step > 0 || step < -MAXIMUM_MISORDER) {
        stream->numbers += stream->has_sent ? (uint16_t)step : 1;
        stream->last_sequence = sequence;
        stream->last_time = time;
    }
    stream->has_sent = true;
    stream->last_sent_at = now;
    return is_wanted;
}

bool rtp_stream_send(CTapedeckRTPStream *stream, const uint8_t *packet, size_t size, int64_t now) {
    bool is_wanted = false;
    g_mutex_lock(&stream->lock);
    if (stream->rtp >= 0 && stream->has_source) {
        is_wanted = send_packet(stream, packet, size, now);
        if (now - stream->last_listened_at >= LISTEN_INTERVAL) {
            stream->last_listened_at = now;
            is_wanted = listen_to_receivers(stream, now) || is_wanted;
        }
        if (now - stream->last_report_at >= REPORT_INTERVAL && send_report(stream, false)) {
            stream->last_report_at = now;
        }
    }
    g_mutex_unlock(&stream->lock);
    return is_wanted;
}
