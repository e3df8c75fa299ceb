// SPDX-License-Identifier: Apache-2.0
//
// Parts of GStreamer that Swift cannot import (macros, variadics), and the work done per packet, which must not cross
// into Swift for each one. Pointers named `object` take any GObject.

#ifndef CTAPEDECK_H
#define CTAPEDECK_H

#include "CTapedeckReceive.h"
#include "CTapedeckData.h"
#include "CTapedeckCertificate.h"
#include "CTapedeckCongestion.h"
#include "CTapedeckGate.h"
#include "CTapedeckHost.h"
#include "CTapedeckICE.h"
#include "CTapedeckLimits.h"
#include "CTapedeckMediaFile.h"
#include "CTapedeckObjectCount.h"
#include "CTapedeckOutput.h"
#include "CTapedeckPlaylist.h"
#include "CTapedeckReader.h"
#include "CTapedeckReceivePath.h"
#include "CTapedeckRender.h"
#include "CTapedeckReorder.h"
#include "CTapedeckSRTP.h"
#include "CTapedeckSend.h"
#include "CTapedeckShims.h"
#include "CTapedeckSound.h"
#include "CTapedeckStill.h"

#endif
