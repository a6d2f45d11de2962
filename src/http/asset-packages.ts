// Operations of the tag `assets` on the bundled packages, which are the same for everybody.
import type { OperationHandler, OperationReply } from '../../generated/operations.ts'
import { isKey } from '../assets/keys.ts'
import { assetPackages, packageFile } from '../assets/packages.ts'
import { ServiceError } from '../errors.ts'
import { preconditions } from './conditions.ts'
import { objectReply } from './object-reply.ts'
import type { RequestContext } from './request.ts'

/** The address names the bytes. */
const FOR_EVER = 'public, max-age=31536000, immutable'
/** Another version of the service may have others there. */
const ASK_AGAIN = 'public, no-cache'

interface Handlers {
  listAssetPackages: OperationHandler<'listAssetPackages', RequestContext>
  getAssetPackageFile: OperationHandler<'getAssetPackageFile', RequestContext>
}

export const packagesOfAssets: Handlers = {
  listAssetPackages({ headers: asked }) {
    const { packages, sha256 } = assetPackages()
    const headers = { ETag: `"${sha256}"`, 'Cache-Control': ASK_AGAIN }
    if (preconditions(asked, { etag: headers.ETag }) === 'unchanged') return { status: 304, headers }
    return { status: 200, body: [...packages], headers }
  },

  async getAssetPackageFile({ path: { path }, query, headers }) {
    if (!isKey(path)) {
      const message =
        'must be segments between single slashes, without dot segments, backslashes and control characters'
      throw new ServiceError('INVALID_REQUEST', { problems: [{ path: '/path/path', message }] })
    }
    const file = packageFile(path)
    if (!file) throw new ServiceError('NOT_FOUND')
    const cache = query.v === file.v ? FOR_EVER : ASK_AGAIN
    return (await objectReply(headers, file, { cache })) as OperationReply<'getAssetPackageFile'>
  },
}
