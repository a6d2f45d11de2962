// Operations of the tag `assets` on the bundled packages, which are the same for all callers.
import type { OperationHandler, OperationReply } from '../../../generated/operations.ts'
import { findPackageFile, listAssetPackages } from '../../assets/bundled-packages.ts'
import { isObjectKey } from '../../assets/storage-keys.ts'
import { ServiceError } from '../../errors.ts'
import { evaluatePreconditions } from '../body/conditional-requests.ts'
import { createFileReply } from '../body/file-reply.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

/** The URL contains the version of the bytes. */
const IMMUTABLE_CACHE = 'public, max-age=31536000, immutable'
/** Another version of the service may serve other bytes at this URL. */
const REVALIDATED_CACHE = 'public, no-cache'

interface AssetPackageHandlers {
  listAssetPackages: OperationHandler<'listAssetPackages', RequestContext>
  getAssetPackageFile: OperationHandler<'getAssetPackageFile', RequestContext>
}

export const assetPackageHandlers: AssetPackageHandlers = {
  listAssetPackages({ headers: conditions }) {
    const { packages, sha256 } = listAssetPackages()
    const headers = { ETag: `"${sha256}"`, 'Cache-Control': REVALIDATED_CACHE }
    if (evaluatePreconditions(conditions, { etag: headers.ETag }) === 'unchanged') return { status: 304, headers }
    return { status: 200, body: [...packages], headers }
  },

  async getAssetPackageFile({ path: { path }, query, headers }) {
    if (!isObjectKey(path)) {
      const message = 'must be segments between single slashes, without dot segments, backslashes or control characters'
      throw new ServiceError('INVALID_REQUEST', { problems: [{ path: '/path/path', message }] })
    }
    const file = findPackageFile(path)
    if (!file) throw new ServiceError('NOT_FOUND')
    const cache = query.v === file.v ? IMMUTABLE_CACHE : REVALIDATED_CACHE
    return (await createFileReply(headers, file, { cache_control: cache })) as OperationReply<'getAssetPackageFile'>
  },
}
