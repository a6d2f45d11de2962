// The operation of the tag `sdk` that takes a file for a run. How it is sent is in multipart.ts, where it is kept in the temporary store.
import type { OperationHandler } from '../../generated/operations.ts'
import { uriOf } from '../assets/keys.ts'
import { AROUND, openUpload } from './multipart.ts'
import type { RequestContext } from './request.ts'
import { tellingLater } from './room.ts'

export const sdkUploads: { uploadTemporaryAsset: OperationHandler<'uploadTemporaryAsset', RequestContext> } = {
  async uploadTemporaryAsset(_request, { app, principal, incoming }) {
    using upload = await openUpload(incoming, { largest: app.config.max_upload_bytes, pace: app.upload_pace })
    const at_least = Math.max(0, Number(incoming.headers['content-length'] ?? 0) - AROUND)
    const kept = await app.temporary.put(principal, { ...upload, at_least }).catch((error) => {
      throw tellingLater(error)
    })
    const { storage_key, name, content_type, size, expires_at } = kept
    return { status: 201, body: { version: 1, uri: uriOf(storage_key), name, content_type, size, expires_at } }
  },
}
