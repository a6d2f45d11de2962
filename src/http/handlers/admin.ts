// Operations of the tag `admin`. Earlier steps check the caller, and record the call in the audit log.
import type { AdminHandlers } from '../../../generated/operations.ts'
import { encodeKeySegment } from '../../assets/storage-keys.ts'
import { listCollections } from '../../vectors/collection-listing.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { requireObjectKey, storeObject } from './object-upload.ts'

export const adminHandlers: AdminHandlers<RequestContext> = {
  listCollections({ query }, { app, principal }) {
    const parts = { store: app.store, cursors: app.runs.cursors, redactor: app.users.redactor }
    return { status: 200, body: listCollections(parts, principal, query) }
  },

  async putAdminAsset({ path: { name }, headers }, context) {
    const key = `${encodeKeySegment(context.principal.user_id)}/${name}`
    requireObjectKey(key, '/path/name')
    return storeObject(context, key, headers, () => {})
  },
}
