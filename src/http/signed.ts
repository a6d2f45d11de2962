// Requests that a signature in their query authorises, in the place of a credential: reads of the one key that was signed.
import type { RequestHandler, Response } from 'express'
import type { OperationInfo } from '../../generated/operations.ts'
import type { AppContext } from '../context.ts'

const SIGNABLE: ReadonlySet<string> = new Set(['getObject', 'headObject'])

/** Whether an operation can be called with a signature. */
export function takesSignature({ operationId }: OperationInfo): boolean {
  return SIGNABLE.has(operationId)
}

/** Lets a request with a valid signature of its key through to the rest of its route. For others it is as if they had none. */
export function bySignature({ assets, platform }: AppContext, admit: (response: Response) => void): RequestHandler {
  return (request, response, next) => {
    const { expires, signature } = request.query
    if (signature === undefined) return next('route')
    const key = [request.params.key ?? []].flat().join('/')
    if (!assets.signatures.hold(key, expires, signature, platform.now())) return next('route')
    admit(response)
    next()
  }
}
