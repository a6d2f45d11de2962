// Operations of the tag `sdk`, the lifecycle profile. Discovery, jobs and schemas have files of their own in the folder sdk.
import type { SdkHandlers } from '../../../generated/operations.ts'
import { storageUri } from '../../assets/storage-keys.ts'
import { userShareKey } from '../../db/owner-scope.ts'
import { createCatalogPageSteps } from '../../models/catalogue/page.ts'
import { MAX_ENVELOPE_BYTES, openFileUpload } from '../body/multipart/uploads.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { translateStorageError } from '../pipeline/storage-errors.ts'
import { listRedactedModels } from './redacted-models.ts'
import { sdkDiscoveryHandlers } from './sdk/discovery.ts'
import { sdkJobsHandlers } from './sdk/jobs.ts'
import { sdkSchemasHandlers } from './sdk/schemas.ts'

export const sdkHandlers: SdkHandlers<RequestContext> = {
  ...sdkDiscoveryHandlers,
  ...sdkJobsHandlers,
  ...sdkSchemasHandlers,

  /** Checks a run before it is started. The socket has the same service. */
  async preflightWorkflow({ body }, { app, principal, signal }) {
    return { status: 200, body: await app.runs.preflight.report(principal, body, signal) }
  },

  /** Takes a file for a run. How it is sent is in body/multipart/uploads.ts, where it is kept in the temporary store. */
  async uploadTemporaryAsset(_request, context) {
    const { app, principal, incoming } = context
    using upload = await openFileUpload(incoming, {
      largest: app.config.max_upload_bytes,
      pace: app.transport.stall_detector,
      confirm: () => context.confirmCredential(),
    })
    const at_least = Math.max(0, Number(incoming.headers['content-length'] ?? 0) - MAX_ENVELOPE_BYTES)
    const kept = await app.assets.temporary.put(principal, { ...upload, at_least }).catch((error) => {
      throw translateStorageError(error)
    })
    const { storage_key, name, content_type, size, expires_at } = kept
    return { status: 201, body: { version: 1, uri: storageUri(storage_key), name, content_type, size, expires_at } }
  },

  /** Lists the models that workflows may be given. */
  async listModelCatalog({ query }, { app, principal, signal }) {
    const listed = await listRedactedModels(app, principal, signal)
    const page = createCatalogPageSteps(listed, query, app.config.default_provider)
    return { status: 200, body: await app.schedulers.reading.begin(userShareKey(principal), page) }
  },
}
