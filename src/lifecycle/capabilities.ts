// Describes what this server can do, and the limits that it enforces. Each number comes from the code that enforces it.
import type { Capabilities } from '../../generated/types.ts'
import type { Config } from '../config.ts'
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { MAX_JOB_EVENTS } from '../events/retention-limit.ts'
import { MAX_INLINE_MEDIA_CHARACTERS } from '../jobs/outputs/publisher.ts'
import { IDEMPOTENCY_RETENTION_SECONDS } from '../jobs/submission/earlier-submissions.ts'
import { readRegistryRevision } from '../nodes/registry-revision.ts'
import type { Platform } from '../platform.ts'
import { version } from '../version.ts'
import { MOST_INTERFACES } from '../workflows/summaries-and-interfaces.ts'
import { REFERENCE_PREFIXES } from './preflight/asset-references.ts'
import { REQUEST_TIMEOUT_SECONDS } from './request-timeout.ts'

interface CapabilityParts {
  readonly config: Config
  readonly platform: Platform
}

/** Returns the same for every caller. */
export function describeCapabilities(registry: NodeRegistry, { config, platform }: CapabilityParts): Capabilities {
  return {
    protocol_version: '1',
    server_version: version,
    server_time: platform.timestamp(),
    supported_encodings: ['messagepack', 'json-text'],
    default_encoding: 'messagepack',
    profiles: describeProfiles(config),
    registry_revision: readRegistryRevision(registry),
    auth_modes: hasTrustedSources(config) ? ['trusted_local', 'bearer'] : ['bearer'],
    asset_uri_schemes: [...REFERENCE_PREFIXES],
    execution_options: {
      persistence: ['job', 'session'],
      event_detail: ['full', 'outputs', 'terminal'],
      asset_persistence: ['auto', 'temporary'],
      defaults: { persistence: 'job', event_detail: 'full', asset_persistence: 'temporary' },
    },
    limits: {
      max_rpc_batch: MOST_INTERFACES,
      max_inline_bytes: MAX_INLINE_MEDIA_CHARACTERS,
      max_upload_bytes: config.max_upload_bytes,
      max_temporary_bytes_per_user: config.max_temporary_bytes_per_user || null,
      max_queued_jobs: config.max_queued_jobs,
      max_job_event_replay: MAX_JOB_EVENTS,
      request_timeout_seconds: REQUEST_TIMEOUT_SECONDS,
      idempotency_retention_seconds: IDEMPOTENCY_RETENTION_SECONDS,
    },
  }
}

function describeProfiles({ sdk_lifecycle, sdk_lifecycle_preview }: Config): Capabilities['profiles'] {
  const switched = sdk_lifecycle ? 'available' : 'disabled'
  return {
    discovery: 'available',
    execution: 'available',
    preflight: switched,
    model_catalog: 'available',
    temporary_asset_upload: switched,
    jobs: sdk_lifecycle_preview ? switched : 'unavailable',
  }
}

/** Whether callers from some addresses need no credential. */
function hasTrustedSources({ trust_localhost, trust_local_networks }: Config): boolean {
  return trust_localhost || trust_local_networks.length > 0
}
