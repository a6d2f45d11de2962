// Operations of the tag `storage`: bytes by key. Whose key it is, is left to the assets.
import type { OperationReply, OperationRequest, StorageHandlers } from '../../generated/operations.ts'
import type { StoredAsset } from '../assets/assets.ts'
import { isKey } from '../assets/keys.ts'
import type { ByteRange } from '../assets/object-store.ts'
import { ServiceError } from '../errors.ts'
import { byteRange } from './byte-range.ts'
import { preconditions, rangeHolds } from './conditions.ts'
import { disposition } from './disposition.ts'
import type { RequestContext } from './request.ts'

/** What is not ours runs nowhere: not as a page, not in a frame, with no origin. Styles are those that browsers give plain files. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

type Read = OperationRequest<'getObject'> | OperationRequest<'headObject'>
type Headers = Record<string, string | number>
type Decision =
  | { status: 304; headers: Headers }
  | { status: 200 | 206; headers: Headers; content_type: string; range: ByteRange }

export const storage: StorageHandlers<RequestContext> = {
  async getObject(request, context) {
    const asset = assetOf(request, context)
    const decision = decide(request, asset)
    if (decision.status === 304) return decision
    const { range, ...reply } = decision
    const body = await context.app.assets.read(asset, range)
    if (!body) throw new ServiceError('NOT_FOUND')
    return { ...reply, body } as OperationReply<'getObject'>
  },

  headObject(request, context) {
    const decision = decide(request, assetOf(request, context))
    if (decision.status === 304) return decision
    const { status, headers, content_type } = decision
    return { status, headers: { ...headers, 'Content-Type': content_type } }
  },
}

/** @throws INVALID_REQUEST for what is no key, NOT_FOUND for one of nobody's and of somebody else's */
function assetOf({ path: { key } }: Read, context: RequestContext): StoredAsset {
  if (!isKey(key)) {
    const message = 'must be segments between single slashes, without dot segments, backslashes and control characters'
    throw new ServiceError('INVALID_REQUEST', { problems: [{ path: '/path/key', message }] })
  }
  const { assets } = context.app
  const asset = context.signed ? assets.findSigned(key) : assets.find(context.principal, key)
  if (!asset) throw new ServiceError('NOT_FOUND')
  return asset
}

/** In the order of RFC 9110, section 13.2.2. */
function decide({ headers: asked }: Read, asset: StoredAsset): Decision {
  const { size, content_type } = asset
  const validators = { etag: `"${asset.sha256}"`, last_modified: new Date(asset.created_at).toUTCString() }
  const met = preconditions(asked, validators)
  if (met === 'failed') throw new ServiceError('PRECONDITION_FAILED')
  // Whoever keeps a copy asks again: the asset may have been removed, or the signature have expired.
  const common = {
    ETag: validators.etag,
    'Last-Modified': validators.last_modified,
    'Cache-Control': 'private, no-cache',
  }
  if (met === 'unchanged') return { status: 304, headers: common }
  const range = asked.range && rangeHolds(asked, validators) ? byteRange(asked.range, size) : null
  if (range === 'unsatisfiable')
    throw new ServiceError('RANGE_NOT_SATISFIABLE', { headers: { 'Content-Range': `bytes */${size}` } })
  const { start, length } = range ?? { start: 0, length: size }
  const headers: Headers = {
    ...common,
    'Accept-Ranges': 'bytes',
    'Content-Length': length,
    'Content-Disposition': disposition(content_type, asset.name),
    'Content-Security-Policy': POLICY,
  }
  if (range) headers['Content-Range'] = `bytes ${start}-${start + length - 1}/${size}`
  return { status: range ? 206 : 200, headers, content_type, range: { start, length } }
}
