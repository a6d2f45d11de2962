// Operations of the tag `admin`. Who may call them is seen to before, and so is that the audit log hears of it.
import type { AdminHandlers } from '../../generated/operations.ts'
import { keySegment } from '../assets/keys.ts'
import { listCollections } from '../vectors/collections.ts'
import { requireKey, storeObject } from './object-upload.ts'
import type { RequestContext } from './request.ts'

export const admin: AdminHandlers<RequestContext> = {
  listCollections({ query }, { app }) {
    return { status: 200, body: listCollections(app.store, query) }
  },

  async putAdminAsset({ path: { name }, headers }, context) {
    const key = `${keySegment(context.principal.user_id)}/${name}`
    requireKey(key, '/path/name')
    return storeObject(context, key, headers, () => {})
  },
}
