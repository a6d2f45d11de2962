// Operations of the tag `storage`: bytes by key. The assets decide which user owns a key; object-upload.ts receives the bytes.
import type { OperationReply, OperationRequest, StorageHandlers } from '../../../generated/operations.ts'
import type { StoredFile } from '../../assets/file-lookup.ts'
import { resolveKeyUse } from '../../assets/storage-keys.ts'
import type { ObjectPrecondition } from '../../assets/stored-object-service.ts'
import { ServiceError } from '../../errors.ts'
import { type ConditionalHeaders, isChangeAllowed } from '../body/conditional-requests.ts'
import { createFileReply, evaluateFileRequest } from '../body/file-reply.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { requireObjectKey, storeObject } from './object-upload.ts'

type ReadRequest = OperationRequest<'getObject'> | OperationRequest<'headObject'>

export const storageHandlers: StorageHandlers<RequestContext> = {
  async getObject(request, context) {
    const retry = async () => createFileReply(request.headers, await findFile(request, context))
    const file = await findFile(request, context)
    // An object that was replaced between lookup and opening still exists, with another file.
    const reply = createFileReply(request.headers, file).catch((error) =>
      isNotFound(error) ? retry() : Promise.reject(error),
    )
    return (await reply) as OperationReply<'getObject'>
  },

  async headObject(request, context) {
    const decision = evaluateFileRequest(request.headers, await findFile(request, context))
    if (decision.status === 304) return decision
    const { status, headers, content_type } = decision
    return { status, headers: { ...headers, 'Content-Type': content_type } }
  },

  async putObject({ path: { key }, headers }, context) {
    requireObjectKey(key)
    return storeObject(context, key, headers, createPreconditionCheck(headers))
  },

  async deleteObject({ path: { key }, headers }, { app, principal }) {
    requireObjectKey(key)
    const judge = createPreconditionCheck(headers)
    const use = resolveKeyUse(principal.user_id, key)
    if (use === null) throw new ServiceError('NOT_FOUND')
    if (use !== 'upload') await app.assets.objects.remove(principal, key, judge)
    else {
      const file = await app.assets.temporary.find(principal, key)
      judge(file)
      if (file) await app.assets.temporary.remove(file)
    }
    return { status: 204 }
  },
}

function isNotFound(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'NOT_FOUND'
}

/** @throws INVALID_REQUEST for a malformed key, NOT_FOUND for a key that does not exist or belongs to another user */
async function findFile({ path: { key } }: ReadRequest, context: RequestContext): Promise<StoredFile> {
  requireObjectKey(key)
  const file = await context.app.assets.files.byKey(context.signed ? null : context.principal, key)
  if (!file) throw new ServiceError('NOT_FOUND')
  return file
}

/** @throws PRECONDITION_FAILED where what is there is not what the request expects */
function createPreconditionCheck(
  asked: ConditionalHeaders,
): (present: Parameters<ObjectPrecondition>[0] | { readonly sha256: string }) => void {
  return (present) => {
    const etag = present && `"${present.sha256}"`
    if (!isChangeAllowed(asked, etag)) throw new ServiceError('PRECONDITION_FAILED')
  }
}
