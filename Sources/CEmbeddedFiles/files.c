// SPDX-License-Identifier: Apache-2.0

#include "CEmbeddedFiles.h"

// Clang knows #embed in every version of C; it is of C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

#define FILE_OF(name, bytes) {name, bytes, sizeof bytes}

static const uint8_t control_openapi_yaml[] = {
#embed "../Control/OpenAPI/openapi.yaml"
};

static const uint8_t dashboard_api_js[] = {
#embed "../Control/Page/api.js"
};
static const uint8_t dashboard_base_css[] = {
#embed "../Control/Page/base.css"
};
static const uint8_t dashboard_controls_css[] = {
#embed "../Control/Page/controls.css"
};
static const uint8_t dashboard_dialogs_js[] = {
#embed "../Control/Page/dialogs.js"
};
static const uint8_t dashboard_dom_js[] = {
#embed "../Control/Page/dom.js"
};
static const uint8_t dashboard_exports_js[] = {
#embed "../Control/Page/exports.js"
};
static const uint8_t dashboard_feed_js[] = {
#embed "../Control/Page/feed.js"
};
static const uint8_t dashboard_format_js[] = {
#embed "../Control/Page/format.js"
};
static const uint8_t dashboard_hosts_js[] = {
#embed "../Control/Page/hosts.js"
};
static const uint8_t dashboard_icon_svg[] = {
#embed "../Control/Page/icon.svg"
};
static const uint8_t dashboard_index_html[] = {
#embed "../Control/Page/index.html"
};
static const uint8_t dashboard_main_js[] = {
#embed "../Control/Page/main.js"
};
static const uint8_t dashboard_messages_js[] = {
#embed "../Control/Page/messages.js"
};
static const uint8_t dashboard_overview_js[] = {
#embed "../Control/Page/overview.js"
};
static const uint8_t dashboard_player_js[] = {
#embed "../Control/Page/player.js"
};
static const uint8_t dashboard_rates_js[] = {
#embed "../Control/Page/rates.js"
};
static const uint8_t dashboard_recording_css[] = {
#embed "../Control/Page/recording.css"
};
static const uint8_t dashboard_recording_js[] = {
#embed "../Control/Page/recording.js"
};
static const uint8_t dashboard_recordings_css[] = {
#embed "../Control/Page/recordings.css"
};
static const uint8_t dashboard_recordings_js[] = {
#embed "../Control/Page/recordings.js"
};
static const uint8_t dashboard_room_card_js[] = {
#embed "../Control/Page/room-card.js"
};
static const uint8_t dashboard_room_form_js[] = {
#embed "../Control/Page/room-form.js"
};
static const uint8_t dashboard_rooms_css[] = {
#embed "../Control/Page/rooms.css"
};
static const uint8_t dashboard_rooms_js[] = {
#embed "../Control/Page/rooms.js"
};
static const uint8_t dashboard_session_js[] = {
#embed "../Control/Page/session.js"
};
static const uint8_t dashboard_sparkline_js[] = {
#embed "../Control/Page/sparkline.js"
};
static const uint8_t dashboard_stills_js[] = {
#embed "../Control/Page/stills.js"
};
static const uint8_t dashboard_theme_js[] = {
#embed "../Control/Page/theme.js"
};
static const uint8_t dashboard_thumbnails_js[] = {
#embed "../Control/Page/thumbnails.js"
};
static const uint8_t dashboard_timeline_js[] = {
#embed "../Control/Page/timeline.js"
};
static const uint8_t dashboard_webhooks_css[] = {
#embed "../Control/Page/webhooks.css"
};
static const uint8_t dashboard_webhooks_js[] = {
#embed "../Control/Page/webhooks.js"
};

static const CEmbeddedFile dashboard[] = {
    FILE_OF("api.js", dashboard_api_js),
    FILE_OF("base.css", dashboard_base_css),
    FILE_OF("controls.css", dashboard_controls_css),
    FILE_OF("dialogs.js", dashboard_dialogs_js),
    FILE_OF("dom.js", dashboard_dom_js),
    FILE_OF("exports.js", dashboard_exports_js),
    FILE_OF("feed.js", dashboard_feed_js),
    FILE_OF("format.js", dashboard_format_js),
    FILE_OF("hosts.js", dashboard_hosts_js),
    FILE_OF("icon.svg", dashboard_icon_svg),
    FILE_OF("index.html", dashboard_index_html),
    FILE_OF("main.js", dashboard_main_js),
    FILE_OF("messages.js", dashboard_messages_js),
    FILE_OF("overview.js", dashboard_overview_js),
    FILE_OF("player.js", dashboard_player_js),
    FILE_OF("rates.js", dashboard_rates_js),
    FILE_OF("recording.css", dashboard_recording_css),
    FILE_OF("recording.js", dashboard_recording_js),
    FILE_OF("recordings.css", dashboard_recordings_css),
    FILE_OF("recordings.js", dashboard_recordings_js),
    FILE_OF("room-card.js", dashboard_room_card_js),
    FILE_OF("room-form.js", dashboard_room_form_js),
    FILE_OF("rooms.css", dashboard_rooms_css),
    FILE_OF("rooms.js", dashboard_rooms_js),
    FILE_OF("session.js", dashboard_session_js),
    FILE_OF("sparkline.js", dashboard_sparkline_js),
    FILE_OF("stills.js", dashboard_stills_js),
    FILE_OF("theme.js", dashboard_theme_js),
    FILE_OF("thumbnails.js", dashboard_thumbnails_js),
    FILE_OF("timeline.js", dashboard_timeline_js),
    FILE_OF("webhooks.css", dashboard_webhooks_css),
    FILE_OF("webhooks.js", dashboard_webhooks_js),
};

static const uint8_t room_index_html[] = {
#embed "../RoomServer/Page/index.html"
};
static const uint8_t room_room_css[] = {
#embed "../RoomServer/Page/room.css"
};
static const uint8_t room_room_js[] = {
#embed "../RoomServer/Page/room.js"
};

static const CEmbeddedFile room[] = {
    FILE_OF("index.html", room_index_html),
    FILE_OF("room.css", room_room_css),
    FILE_OF("room.js", room_room_js),
};

static const uint8_t capture_alsa_yaml[] = {
#embed "../../Pipelines/capture/alsa.yaml"
};
static const uint8_t capture_file_yaml[] = {
#embed "../../Pipelines/capture/file.yaml"
};
static const uint8_t capture_image_yaml[] = {
#embed "../../Pipelines/capture/image.yaml"
};
static const uint8_t capture_rtp_yaml[] = {
#embed "../../Pipelines/capture/rtp.yaml"
};
static const uint8_t capture_rtsp_yaml[] = {
#embed "../../Pipelines/capture/rtsp.yaml"
};
static const uint8_t capture_screen_yaml[] = {
#embed "../../Pipelines/capture/screen.yaml"
};
static const uint8_t capture_slate_yaml[] = {
#embed "../../Pipelines/capture/slate.yaml"
};
static const uint8_t capture_test_yaml[] = {
#embed "../../Pipelines/capture/test.yaml"
};
static const uint8_t capture_v4l2_yaml[] = {
#embed "../../Pipelines/capture/v4l2.yaml"
};
static const uint8_t encode_nvh264enc_yaml[] = {
#embed "../../Pipelines/encode/nvh264enc.yaml"
};
static const uint8_t encode_openh264enc_yaml[] = {
#embed "../../Pipelines/encode/openh264enc.yaml"
};
static const uint8_t encode_opusenc_yaml[] = {
#embed "../../Pipelines/encode/opusenc.yaml"
};
static const uint8_t encode_v4l2h264enc_yaml[] = {
#embed "../../Pipelines/encode/v4l2h264enc.yaml"
};
static const uint8_t encode_vah264enc_yaml[] = {
#embed "../../Pipelines/encode/vah264enc.yaml"
};
static const uint8_t encode_vp8enc_yaml[] = {
#embed "../../Pipelines/encode/vp8enc.yaml"
};
static const uint8_t encode_vp9enc_yaml[] = {
#embed "../../Pipelines/encode/vp9enc.yaml"
};
static const uint8_t encode_x264enc_yaml[] = {
#embed "../../Pipelines/encode/x264enc.yaml"
};
static const uint8_t output_hls_yaml[] = {
#embed "../../Pipelines/output/hls.yaml"
};
static const uint8_t output_rtmp_yaml[] = {
#embed "../../Pipelines/output/rtmp.yaml"
};
static const uint8_t output_shm_yaml[] = {
#embed "../../Pipelines/output/shm.yaml"
};
static const uint8_t output_srt_yaml[] = {
#embed "../../Pipelines/output/srt.yaml"
};
static const uint8_t output_v4l2loopback_yaml[] = {
#embed "../../Pipelines/output/v4l2loopback.yaml"
};

static const CEmbeddedFile pipelines[] = {
    FILE_OF("capture/alsa.yaml", capture_alsa_yaml),
    FILE_OF("capture/file.yaml", capture_file_yaml),
    FILE_OF("capture/image.yaml", capture_image_yaml),
    FILE_OF("capture/rtp.yaml", capture_rtp_yaml),
    FILE_OF("capture/rtsp.yaml", capture_rtsp_yaml),
    FILE_OF("capture/screen.yaml", capture_screen_yaml),
    FILE_OF("capture/slate.yaml", capture_slate_yaml),
    FILE_OF("capture/test.yaml", capture_test_yaml),
    FILE_OF("capture/v4l2.yaml", capture_v4l2_yaml),
    FILE_OF("encode/nvh264enc.yaml", encode_nvh264enc_yaml),
    FILE_OF("encode/openh264enc.yaml", encode_openh264enc_yaml),
    FILE_OF("encode/opusenc.yaml", encode_opusenc_yaml),
    FILE_OF("encode/v4l2h264enc.yaml", encode_v4l2h264enc_yaml),
    FILE_OF("encode/vah264enc.yaml", encode_vah264enc_yaml),
    FILE_OF("encode/vp8enc.yaml", encode_vp8enc_yaml),
    FILE_OF("encode/vp9enc.yaml", encode_vp9enc_yaml),
    FILE_OF("encode/x264enc.yaml", encode_x264enc_yaml),
    FILE_OF("output/hls.yaml", output_hls_yaml),
    FILE_OF("output/rtmp.yaml", output_rtmp_yaml),
    FILE_OF("output/shm.yaml", output_shm_yaml),
    FILE_OF("output/srt.yaml", output_srt_yaml),
    FILE_OF("output/v4l2loopback.yaml", output_v4l2loopback_yaml),
};

static const CEmbeddedFile description = FILE_OF("openapi.yaml", control_openapi_yaml);

const CEmbeddedFile *CEmbeddedFiles_dashboard(size_t *count) {
    *count = sizeof dashboard / sizeof *dashboard;
    return dashboard;
}

const CEmbeddedFile *CEmbeddedFiles_room(size_t *count) {
    *count = sizeof room / sizeof *room;
    return room;
}

const CEmbeddedFile *CEmbeddedFiles_pipelines(size_t *count) {
    *count = sizeof pipelines / sizeof *pipelines;
    return pipelines;
}

CEmbeddedFile CEmbeddedFiles_description(void) {
    return description;
}
