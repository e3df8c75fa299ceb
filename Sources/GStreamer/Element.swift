// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Owner of one reference to a GstElement.
///
/// GStreamer's elements are thread-safe for everything used here: properties, pads, parents.
public final class Element: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<GstElement>

    /// Takes over a full reference.
    init(adopting pointer: UnsafeMutablePointer<GstElement>) {
        self.pointer = pointer
    }

    /// Adds a reference; a floating one is sunk.
    init(referencing pointer: UnsafeMutablePointer<GstElement>) {
        gst_object_ref_sink(pointer)
        self.pointer = pointer
    }

    deinit {
        gst_object_unref(self.pointer)
    }

    /// A new element of a factory, unnamed.
    convenience init(factory: String) throws(GStreamerError) {
        guard let pointer = gst_element_factory_make(factory, nil) else {
            throw GStreamerError(.missingElement, "GStreamer element '\(factory)' is not installed")
        }
        self.init(referencing: pointer)
    }

    /// The name of the factory that made the element; empty for a bin of our own.
    var factoryName: String {
        guard let factory = gst_element_get_factory(self.pointer) else { return "" }
        let object = UnsafeMutableRawPointer(factory).assumingMemoryBound(to: GstObject.self)
        guard let name = gst_object_get_name(object) else { return "" }
        defer { g_free(name) }
        return String(cString: name)
    }

    /// Sets a property from text, as gst-launch reads it, and fails where gst-launch is silent.
    public func set(_ property: String, _ text: String) throws(GStreamerError) {
        try setProperty(of: UnsafeMutableRawPointer(self.pointer), property, text)
    }

    /// Sets a property whose value is text, as it is: a path or a device, with whatever characters it has.
    public func set(_ property: String, verbatim text: String) throws(GStreamerError) {
        switch CGst_property_kind(self.pointer, property) {
        case CGST_PROPERTY_STRING: CGst_set_string(self.pointer, property, text)
        case CGST_PROPERTY_ABSENT: throw GStreamerError(.property, "there is no property '\(property)'")
        default: throw GStreamerError(.property, "property '\(property)' is not text that can be set")
        }
    }

    /// Caps that the `src` pad can give as far as its element knows in its present state, in GStreamer's notation.
    public var offeredCaps: String? {
        guard let pad = try? self.staticPad("src"), let offered = gst_pad_query_caps(pad.pointer, nil) else {
            return nil
        }
        defer { gst_caps_unref(offered) }
        guard let text = gst_caps_to_string(offered) else { return nil }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// A pad that always exists.
    func staticPad(_ name: String) throws(GStreamerError) -> Pad {
        guard let pad = gst_element_get_static_pad(self.pointer, name) else {
            throw GStreamerError(.link, "element '\(self.factoryName)' has no pad '\(name)'")
        }
        return Pad(adopting: pad)
    }
}

/// Sets a property of any GObject from text.
///
/// `gst_util_set_object_arg` ignores an unknown property in silence.
func setProperty(of object: UnsafeMutableRawPointer, _ property: String, _ text: String) throws(GStreamerError) {
    guard CGst_has_property(object, property) != 0 else {
        throw GStreamerError(.property, "there is no property '\(property)'")
    }
    guard CGst_set_from_text(object, property, text) != 0 else {
        throw GStreamerError(.property, "property '\(property)' does not take the value")
    }
}

/// The pad functions of GStreamer take typed pointers; GObject wants untyped ones.
func gst_object_ref_sink<Object>(_ object: UnsafeMutablePointer<Object>) {
    CGStreamer.gst_object_ref_sink(UnsafeMutableRawPointer(object))
}

func gst_object_unref<Object>(_ object: UnsafeMutablePointer<Object>) {
    CGStreamer.gst_object_unref(UnsafeMutableRawPointer(object))
}
