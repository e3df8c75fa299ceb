// SPDX-License-Identifier: Apache-2.0

import Testing

/// One suite above all others: GStreamer's threads and the count of live objects belong to the whole process, so the
/// tests run one after the other.
@Suite(.serialized, .timeLimit(.minutes(5)))
enum AllGStreamer {}
