// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// A message of a pipeline's bus, reduced to the parts that we act on.
public enum BusEvent: Sendable, Hashable {
    /// An element failed; the pipeline is of no more use.
    case error(element: String, message: String, debug: String?)
    /// An element complains and continues.
    case warning(element: String, message: String)
    /// All sinks saw the end of the stream.
    case endOfStream
}

/// Owner of one GstPipeline.
///
/// Its bus is read by a sync handler that translates, hands over and drops: a queued message would keep removed
/// elements alive. The owner of a pipeline calls `stop()` on the control thread before releasing it; `deinit` only
/// drops the reference.
public final class Pipeline: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<GstElement>
    private var bin: UnsafeMutablePointer<GstBin> {
        UnsafeMutableRawPointer(self.pointer).assumingMemoryBound(to: GstBin.self)
    }

    /// Takes over a floating or full reference and installs the bus handler.
    private init(sinking pointer: UnsafeMutablePointer<GstElement>, onBus: @escaping @Sendable (BusEvent) -> Void) {
        gst_object_ref_sink(pointer)
        self.pointer = pointer
        let bus = gst_element_get_bus(pointer)
        gst_bus_set_sync_handler(bus, handleBusMessage, CallbackBox<BusEvent>(onBus).retained(), release)
        CGStreamer.gst_object_unref(bus)
    }

    /// An empty pipeline.
    ///
    /// `onBus` is called on GStreamer's threads: it must not block nor call GStreamer.
    public convenience init(name: String, onBus: @escaping @Sendable (BusEvent) -> Void) throws(GStreamerError) {
        guard let pipeline = gst_pipeline_new(name) else {
            throw GStreamerError(.initialisation, "no pipeline")
        }
        self.init(sinking: pipeline, onBus: onBus)
    }

    /// Protects the video depayloaders that are in it, or come into it, from packets that they cannot take, and from
    /// packets that would make a frame larger than allowed.
    ///
    /// Once, before the first packet.
    func protectDepayloaders() {
        CTapedeck_protect_depayloaders(self.pointer)
    }

    /// A pipeline from launch text; an unknown element or property is an error that names it.
    public convenience init(
        launch: String,
        onBus: @escaping @Sendable (BusEvent) -> Void
    ) throws(GStreamerError) {
        let parsed = try parse(launch: launch, asBin: false)
        let instance = UnsafeMutableRawPointer(parsed).assumingMemoryBound(to: GTypeInstance.self)
        guard g_type_check_instance_is_a(instance, gst_pipeline_get_type()) == 0 else {
            self.init(sinking: parsed, onBus: onBus)
            return
        }
        // One element alone, or a bin in brackets, is parsed without a pipeline around it.
        try self.init(name: "pipeline", onBus: onBus)
        gst_bin_add(self.bin, parsed)
    }

    deinit {
        gst_object_unref(self.pointer)
    }

    /// The element of that name inside the pipeline.
    public func element(named name: String) throws(GStreamerError) -> Element {
        guard let found = gst_bin_get_by_name(self.bin, name) else {
            throw GStreamerError(.parse, "the pipeline has no element named '\(name)'")
        }
        return Element(adopting: found)
    }

    func add(_ element: Element) {
        gst_bin_add(self.bin, element.pointer)
    }

    func remove(_ element: Element) {
        gst_bin_remove(self.bin, element.pointer)
    }

    /// Parses a branch into a bin with ghost pads for its free pads and adds it to the pipeline, without a state.
    func add(branch launch: String) throws(GStreamerError) -> Element {
        let branch = Element(referencing: try parse(launch: launch, asBin: true))
        self.add(branch)
        return branch
    }

    /// The pipeline as it is now, in the DOT language, with media types and element states.
    public var graph: String {
        let details = GstDebugGraphDetails(
            GST_DEBUG_GRAPH_SHOW_MEDIA_TYPE.rawValue | GST_DEBUG_GRAPH_SHOW_STATES.rawValue
        )
        guard let text = gst_debug_bin_to_dot_data(self.bin, details) else { return "" }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// The instant of the clock that is running time 0, in nanoseconds; the same for every pipeline of a session.
    public var baseTimeNanoseconds: UInt64 {
        UInt64(gst_element_get_base_time(self.pointer))
    }

    /// Opens the devices of the pipeline without starting them.
    ///
    /// Control thread only.
    public func open() throws(GStreamerError) {
        try self.set(GST_STATE_READY, "open")
    }

    /// Reads and decodes up to the first frame and audio, and holds them until `play`.
    ///
    /// Does not wait for them.
    ///
    /// Control thread only.
    public func pause() throws(GStreamerError) {
        try self.set(GST_STATE_PAUSED, "open")
    }

    private func set(_ state: GstState, _ what: String) throws(GStreamerError) {
        guard gst_element_set_state(self.pointer, state) != GST_STATE_CHANGE_FAILURE else {
            throw GStreamerError(.stateChange, "the pipeline did not \(what)")
        }
    }

    /// Starts on the system clock.
    ///
    /// With `baseTimeNanoseconds` given, running time counts from there; otherwise from now.
    ///
    /// Control thread only.
    public func play(baseTimeNanoseconds: UInt64? = nil) throws(GStreamerError) {
        let clock = gst_system_clock_obtain()
        let pipeline = UnsafeMutableRawPointer(self.pointer).assumingMemoryBound(to: GstPipeline.self)
        gst_pipeline_use_clock(pipeline, clock)
        let base = baseTimeNanoseconds.map { GstClockTime($0) } ?? gst_clock_get_time(clock)
        gst_element_set_start_time(self.pointer, GstClockTime.max)
        gst_element_set_base_time(self.pointer, base)
        CGStreamer.gst_object_unref(clock)
        try self.set(GST_STATE_PLAYING, "start")
    }

    /// Asks the sources to end: media on the way come through, files are completed, then the bus says `endOfStream`.
    ///
    /// Does not wait for it. Control thread only.
    public func sendEndOfStream() {
        gst_element_send_event(self.pointer, gst_event_new_eos())
    }

    /// Whether the queue of that name holds as many buffers as it may; false if there is no such queue.
    public func isFull(queue name: String) -> Bool {
        guard let queue = try? self.element(named: name) else { return false }
        let maximum = CGst_get_int(queue.pointer, "max-size-buffers")
        return maximum > 0 && CGst_get_int(queue.pointer, "current-level-buffers") >= maximum
    }

    /// Frees everything that the pipeline holds: threads, sockets, files.
    ///
    /// Blocks until it is done.
    ///
    /// Control thread only, never from a callback of the pipeline.
    public func stop() {
        gst_element_set_state(self.pointer, GST_STATE_NULL)
        let bus = gst_element_get_bus(self.pointer)
        gst_bus_set_sync_handler(bus, nil, nil, nil)
        CGStreamer.gst_object_unref(bus)
    }
}

/// Parses launch text, strictly.
private func parse(launch: String, asBin: Bool) throws(GStreamerError) -> UnsafeMutablePointer<GstElement> {
    var error: UnsafeMutablePointer<GError>?
    let parsed: UnsafeMutablePointer<GstElement>?
    if asBin {
        parsed = gst_parse_bin_from_description_full(launch, 1, nil, GST_PARSE_FLAG_FATAL_ERRORS, &error)
    } else {
        parsed = gst_parse_launch_full(launch, nil, GST_PARSE_FLAG_FATAL_ERRORS, &error)
    }
    guard let parsed, error == nil else {
        let message = error.map { String(cString: $0.pointee.message) } ?? "unknown error"
        g_clear_error(&error)
        throw GStreamerError(.parse, "pipeline '\(launch)': \(message)")
    }
    return parsed
}

/// Bus sync handler.
///
/// Any GStreamer thread; owns the message, because the reply is DROP.
private func handleBusMessage(
    _ bus: UnsafeMutablePointer<GstBus>?,
    _ message: UnsafeMutablePointer<GstMessage>?,
    _ user: gpointer?
) -> GstBusSyncReply {
    guard let message else { return GST_BUS_DROP }
    defer { gst_message_unref(message) }
    guard let box = CallbackBox<BusEvent>.from(user) else { return GST_BUS_DROP }
    switch CGst_message_type(message) {
    case GST_MESSAGE_ERROR: box.call(.error(from: message))
    case GST_MESSAGE_WARNING: box.call(.warning(from: message))
    case GST_MESSAGE_EOS: box.call(.endOfStream)
    default: break
    }
    return GST_BUS_DROP
}

extension BusEvent {
    fileprivate static func error(from message: UnsafeMutablePointer<GstMessage>) -> BusEvent {
        let (text, debug) = describe(message, gst_message_parse_error)
        return .error(element: sourceName(of: message), message: text, debug: debug)
    }

    fileprivate static func warning(from message: UnsafeMutablePointer<GstMessage>) -> BusEvent {
        .warning(element: sourceName(of: message), message: describe(message, gst_message_parse_warning).text)
    }

    private static func sourceName(of message: UnsafeMutablePointer<GstMessage>) -> String {
        CGst_message_source_name(message).map { String(cString: $0) } ?? "?"
    }

    private typealias Parse = (
        UnsafeMutablePointer<GstMessage>, UnsafeMutablePointer<UnsafeMutablePointer<GError>?>,
        UnsafeMutablePointer<UnsafeMutablePointer<gchar>?>
    ) -> Void

    private static func describe(
        _ message: UnsafeMutablePointer<GstMessage>,
        _ parse: Parse
    ) -> (text: String, debug: String?) {
        var error: UnsafeMutablePointer<GError>?
        var debug: UnsafeMutablePointer<gchar>?
        parse(message, &error, &debug)
        defer {
            g_clear_error(&error)
            g_free(debug)
        }
        return (
            error.map { String(cString: $0.pointee.message) } ?? "unknown error",
            debug.map { String(cString: $0) }
        )
    }
}
