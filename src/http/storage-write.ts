// The operations of the tag `storage` that change what is there. Whose key it is, is said by the key; how bytes are taken in object-upload.ts.
import type { OperationHandler } from '../../generated/operations.ts'
import { keyUse } from '../assets/keys.ts'
import type { Judge } from '../assets/objects.ts'
import { ServiceError } from '../errors.ts'
import { type Conditions, mayChange } from './conditions.ts'
import { requireKey, storeObject } from './object-upload.ts'
import type { RequestContext } from './request.ts'

type Handler<Id extends 'putObject' | 'deleteObject'> = OperationHandler<Id, RequestContext>

export const storageWrites: { putObject: Handler<'putObject'>; deleteObject: Handler<'deleteObject'> } = {
  async putObject({ path: { key }, headers }, context) {
    requireKey(key)
    return storeObject(context, key, headers, judgeOf(headers))
  },

  async deleteObject({ path: { key }, headers }, { app, principal }) {
    requireKey(key)
    const judge = judgeOf(headers)
    const use = keyUse(principal.user_id, key)
    if (use === null) throw new ServiceError('NOT_FOUND')
    if (use !== 'upload') await app.objects.remove(principal, key, judge)
    else {
      const file = await app.temporary.find(principal, key)
      judge(file)
      if (file) await app.temporary.remove(file)
    }
    return { status: 204 }
  },
}

/** @throws PRECONDITION_FAILED where what is there is not what the request expects */
function judgeOf(asked: Conditions): (present: Parameters<Judge>[0] | { readonly sha256: string }) => void {
  return (present) => {
    const etag = present && `"${present.sha256}"`
    if (!mayChange(asked, etag)) throw new ServiceError('PRECONDITION_FAILED')
  }
}
