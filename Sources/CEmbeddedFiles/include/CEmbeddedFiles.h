// SPDX-License-Identifier: Apache-2.0
//
// Files that are part of the program: pages, pipelines and the description of the HTTP interface. The compiler takes them in with
// `#embed`; Swift's own way, literals of numbers, takes half a minute to compile.

#ifndef CEMBEDDEDFILES_H
#define CEMBEDDEDFILES_H

#include <stddef.h>
#include <stdint.h>

/// A file; what it points to is never freed.
typedef struct {
    /// Its name, without a folder but for a pipeline, which has one: `capture/alsa.yaml`.
    const char *name;
    const uint8_t *bytes;
    /// How many bytes; at least one.
    size_t count;
} CEmbeddedFile;

/// The files of `Control/Page`.
const CEmbeddedFile *CEmbeddedFiles_dashboard(size_t *count);

/// The files of `RoomServer/Page`.
const CEmbeddedFile *CEmbeddedFiles_room(size_t *count);

/// The files of `Pipelines`.
const CEmbeddedFile *CEmbeddedFiles_pipelines(size_t *count);

/// `Control/OpenAPI/openapi.yaml`.
CEmbeddedFile CEmbeddedFiles_description(void);

#endif
