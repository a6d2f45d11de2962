// What is below the transports: the listener, and limits on what requests and sockets take.
import type { Server } from 'node:http'
import type { TransportLimits } from '../context.ts'
import { FollowQuota, MAX_FOLLOWED_JOBS, MAX_FOLLOWED_THREADS } from '../follow-quota.ts'
import { closeListener } from '../http/connection/graceful-close.ts'
import { createListener } from '../http/connection/listener.ts'
import { maxResponseBufferBytes, ResponseBuffers } from '../net/response-buffers.ts'
import { UploadStallDetector } from '../net/upload-stall-detector.ts'
import { PayloadValidator } from '../payloads/payload-validator.ts'
import type { Foundation } from './foundation.ts'

export function composeTransport({ config, overrides, log, stack }: Foundation): TransportLimits {
  const payloads = new PayloadValidator(Math.max(config.max_body_bytes, config.ws_max_message_bytes))
  stack.defer(() => payloads.close())
  return {
    payloads,
    response_buffers: new ResponseBuffers(log, {
      most: overrides.max_response_buffer_bytes ?? maxResponseBufferBytes(config.max_body_bytes),
    }),
    followed_jobs: new FollowQuota('jobs', overrides.max_followed_jobs ?? MAX_FOLLOWED_JOBS),
    followed_threads: new FollowQuota('threads', overrides.max_followed_threads ?? MAX_FOLLOWED_THREADS),
    stall_detector: new UploadStallDetector(overrides.upload_window_ms),
  }
}

export function composeListener(foundation: Foundation, { stall_detector }: TransportLimits): Server {
  const { config, overrides, platform, log, stack } = foundation
  const limits = { trusted_proxies: config.trusted_proxies, ...overrides.listener }
  const listener = createListener(log, limits, stall_detector, () => platform.id('req'))
  stack.defer(() => closeListener(listener))
  return listener
}
