// SPDX-License-Identifier: Apache-2.0

import CTapedeckRTSP
import Testing

extension AllGStreamer {
    @Suite
    struct RTSPTimesTests {
        static let millisecond: Int64 = 1_000_000
        /// Where the sender's clock stands at the pipeline's zero.
        static let zero: Int64 = 4_000_000_000_000_000_000

        final class Times {
            let pointer = CTapedeck_rtsp_times_new()

            deinit { CTapedeck_rtsp_times_unref(self.pointer) }

            /// The place of what was sampled at a time and came so much later, both in milliseconds.
            func place(_ sampled: Int64, after delay: Int64) -> Int64 {
                CTapedeck_rtsp_times_place(
                    self.pointer,
                    RTSPTimesTests.zero + sampled * RTSPTimesTests.millisecond,
                    (sampled + delay) * RTSPTimesTests.millisecond
                ) / RTSPTimesTests.millisecond
            }
        }

        @Test
        func whatComesSoonestGivesThePlaceOfAll() {
            let times = Times()
            #expect(times.place(1000, after: 40) == 1040)
            #expect(times.place(1020, after: 90) == 1060)
            #expect(times.place(1040, after: 10) == 1050)
            #expect(times.place(1060, after: 40) == 1070)
        }

        @Test
        func aSenderThatCatchesUpKeepsItsPlaces() {
            let times = Times()
            #expect(times.place(1000, after: 10) == 1010)
            // Three seconds late, and a little less with each packet.
            for number in Int64(0)..<300 {
                #expect(times.place(2000 + 20 * number, after: 3000 - 10 * number) == 2010 + 20 * number)
            }
        }

        @Test
        func aClockThatIsSetBackIsTakenAnew() {
            let times = Times()
            #expect(times.place(20000, after: 0) == 20000)
            for number in Int64(1)...501 {
                #expect(times.place(10000 + 20 * number, after: 10000) == 10000 + 20 * number)
            }
            #expect(times.place(20040, after: 10000) == 30040)
            #expect(times.place(20060, after: 10020) == 30060)
        }

        @Test
        func aClockThatIsSetForwardIsTakenAtOnce() {
            let times = Times()
            #expect(times.place(1000, after: 0) == 1000)
            #expect(times.place(3_601_020, after: -3_600_000) == 1020)
            #expect(times.place(3_601_040, after: -3_600_000) == 1040)
        }

        @Test
        func nothingComesBeforeZero() {
            let times = Times()
            #expect(times.place(1000, after: 0) == 1000)
            #expect(times.place(-500, after: 1600) == 0)
        }
    }
}
