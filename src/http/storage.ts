// Operations of the tag `storage`: bytes by key. Whose key it is, is left to the assets; what changes them is in storage-write.ts.
import type { OperationReply, OperationRequest, StorageHandlers } from '../../generated/operations.ts'
import type { FoundFile } from '../assets/files.ts'
import { ServiceError } from '../errors.ts'
import { decide, objectReply } from './object-reply.ts'
import { requireKey } from './object-upload.ts'
import type { RequestContext } from './request.ts'
import { storageWrites } from './storage-write.ts'

type Read = OperationRequest<'getObject'> | OperationRequest<'headObject'>

export const storage: StorageHandlers<RequestContext> = {
  async getObject(request, context) {
    const reply = async () => objectReply(request.headers, await fileOf(request, context))
    const file = await fileOf(request, context)
    // What was replaced between the look at it and its opening is there still, as something else.
    const told = objectReply(request.headers, file).catch((error) => (isGone(error) ? reply() : Promise.reject(error)))
    return (await told) as OperationReply<'getObject'>
  },

  async headObject(request, context) {
    const decision = decide(request.headers, await fileOf(request, context))
    if (decision.status === 304) return decision
    const { status, headers, content_type } = decision
    return { status, headers: { ...headers, 'Content-Type': content_type } }
  },

  ...storageWrites,
}

function isGone(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'NOT_FOUND'
}

/** @throws INVALID_REQUEST for what is no key, NOT_FOUND for one of nobody's and of somebody else's */
async function fileOf({ path: { key } }: Read, context: RequestContext): Promise<FoundFile> {
  requireKey(key)
  const file = await context.app.files.byKey(context.signed ? null : context.principal, key)
  if (!file) throw new ServiceError('NOT_FOUND')
  return file
}
