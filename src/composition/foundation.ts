// What all parts of a server are made with.
import type { Config } from '../config.ts'
import type { Schedulers } from '../context.ts'
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { createLog, type Log } from '../log.ts'
import { Metrics } from '../metrics.ts'
import { OwnRequestDetector } from '../net/own-request-detector.ts'
import { builtinRegistry } from '../nodes/registry.ts'
import { type Platform, systemPlatform } from '../platform.ts'
import { Redactor } from '../redaction/redactor.ts'
import { TimeSliceScheduler } from '../shared/time-slices.ts'
import type { ServerOverrides } from './overrides.ts'

export interface Foundation {
  readonly config: Config
  readonly overrides: ServerOverrides
  readonly platform: Platform
  readonly redactor: Redactor
  readonly log: Log
  readonly metrics: Metrics
  readonly schedulers: Schedulers
  readonly registry: NodeRegistry
  readonly own_requests: OwnRequestDetector
  /** Each part registers here what it makes. All of it is released when the server closes or its start fails, the last first. */
  readonly stack: AsyncDisposableStack
  /** Aborts before anything is released. */
  readonly stopping: AbortSignal
  /** The URL at which the server is reached now. */
  publicUrl(): string
}

type ServerLifetime = Pick<Foundation, 'stack' | 'stopping' | 'publicUrl'>

export function composeFoundation(config: Config, overrides: ServerOverrides, lifetime: ServerLifetime): Foundation {
  const platform = overrides.platform ?? systemPlatform()
  const redactor = new Redactor(config.known_secrets)
  return {
    ...lifetime,
    config,
    overrides,
    platform,
    redactor,
    log: overrides.log ?? createLog(config.log_level, redactor),
    metrics: new Metrics(),
    // Other work must not wait for readers of stored data.
    schedulers: { slices: new TimeSliceScheduler(), reading: new TimeSliceScheduler() },
    registry: overrides.registry ?? builtinRegistry,
    own_requests: new OwnRequestDetector(platform.secret(16)),
  }
}
