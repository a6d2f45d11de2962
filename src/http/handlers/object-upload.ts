// Stores the body of a request as an object, for every operation that takes plain bytes.
import type { StoredObject } from '../../../generated/types.ts'
import { isObjectKey, resolveKeyUse, storageUri } from '../../assets/storage-keys.ts'
import type { ObjectPrecondition } from '../../assets/stored-object-service.ts'
import { ServiceError } from '../../errors.ts'
import { RawBody, validateRawBodyHeaders } from '../body/raw-body.ts'
import { invalidInputError } from '../body/upload-errors.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { translateStorageError } from '../pipeline/storage-errors.ts'

export interface ObjectUploadHeaders {
  readonly 'content-md5'?: string | undefined
  readonly 'x-checksum-sha256'?: string | undefined
}

interface StoredObjectReply {
  status: 200 | 201
  body: StoredObject
  headers: { ETag: string }
}

/** @throws INVALID_REQUEST for a malformed key; `path` is its path in the request */
export function requireObjectKey(key: string, path = '/path/key'): void {
  if (!isObjectKey(key))
    throw invalidInputError(
      path,
      'must be segments between single slashes, of 255 bytes at most, without dot segments, backslashes or control characters',
    )
}

/** The announced length of the body; 0 if the head has none. */
function readAnnouncedBytes({ headers }: RequestContext['incoming']): number {
  return Number(headers['content-length'] ?? 0)
}

/**
 * Stores the body of a request under a key of the caller. Checks that do not need the body run before it is read.
 * @throws NOT_FOUND for a key that is not the caller's, CONFLICT for a key that the service assigns, the error of the body or its head, and
 * TEMPORARY_QUOTA_EXCEEDED for a temporary object
 */
export async function storeObject(
  context: RequestContext,
  key: string,
  headers: ObjectUploadHeaders,
  validate: ObjectPrecondition,
): Promise<StoredObjectReply> {
  const { app, principal, incoming } = context
  const use = resolveKeyUse(principal.user_id, key)
  if (use === null) throw new ServiceError('NOT_FOUND')
  if (use === 'asset' || use === 'upload')
    throw new ServiceError('CONFLICT', { message: 'The service assigns keys of this form itself. Choose another key.' })
  const largest = app.config.max_upload_bytes
  validateRawBodyHeaders(incoming, largest)
  app.assets.objects.check(principal, key, validate)
  using reservation =
    use === 'temporary'
      ? await app.assets.temporary.quota.reserve(principal.user_id, readAnnouncedBytes(incoming))
      : null
  using body = new RawBody(incoming, {
    largest,
    pace: app.transport.stall_detector,
    md5: headers['content-md5'] ?? null,
    confirm: () => context.confirmCredential(),
  })
  const content_type = incoming.headers['content-type'] ?? null
  const bytes = reservation ? reservation.meter(body.bytes()) : body.bytes()
  const content = { bytes, content_type, sha256: headers['x-checksum-sha256'] ?? null }
  const { row, replaced } = await app.assets.objects.put(principal, key, content, validate).catch((error) => {
    throw translateStorageError(error)
  })
  const etag = `"${row.sha256}"`
  const { size, sha256, updated_at } = row
  const stored = { key, uri: storageUri(key), content_type: row.content_type, size, sha256, etag, updated_at }
  return { status: replaced ? 200 : 201, body: stored, headers: { ETag: etag } }
}
