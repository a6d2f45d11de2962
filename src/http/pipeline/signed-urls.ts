// Signed URLs: a signature in the query authorises a read of the signed key, instead of a credential.
import type { RequestHandler, Response } from 'express'
import type { OperationInfo } from '../../../generated/operations.ts'
import { DELEGATED_TOKEN_ID } from '../../access/principal.ts'
import type { AppContext } from '../../context.ts'

const SIGNABLE_OPERATIONS: ReadonlySet<string> = new Set(['getObject', 'headObject'])

/** Whether an operation can be called with a signature. */
export function isSignable({ operationId }: OperationInfo): boolean {
  return SIGNABLE_OPERATIONS.has(operationId)
}

/** Lets a request with a valid signature of its key continue on its route. Other requests are treated as unsigned. */
export function authorizeSignedUrl(
  { access: { tokens }, assets, config, platform }: AppContext,
  admit: (response: Response) => void,
): RequestHandler {
  const isTokenValid = async (token_id: string | null, now: number) => {
    if (token_id === null) return true
    if (token_id === DELEGATED_TOKEN_ID) return config.integration_token !== null
    return (await tokens.access.isValid(token_id, now)) || (await tokens.mcp.isValid(token_id, now))
  }
  return async (request, response, next) => {
    if (request.query.signature === undefined) return next('route')
    const key = [request.params.key ?? []].flat().join('/')
    const now = platform.now()
    const signed = assets.store.signatures.verify(key, request.query, now)
    if (!signed) return next('route')
    if (!(await isTokenValid(signed.token_id, now))) return next('route')
    admit(response)
    next()
  }
}
