// Access control: sends the refusal of an AuthVerdict, and checks what an operation requires of the principal.
import type { RequestHandler, Response } from 'express'
import type { OperationInfo } from '../../../generated/operations.ts'
import type { AccessServices } from '../../access/access-services.ts'
import type { AuditLog } from '../../access/audit-log.ts'
import type { AuthVerdict, UnauthorizedRefusal } from '../../access/auth-verdict.ts'
import { canAdminister, canCall, isTrustedByAddress, type Principal, type TokenScope } from '../../access/principal.ts'
import type { Config } from '../../config.ts'
import { ServiceError } from '../../errors.ts'
import { sendUnauthorized } from './reply.ts'
import { RequestCredential } from './request-credential.ts'
import type { UnhandledRequestCounter } from './request-metrics.ts'
import { localsOf, requestFactsOf } from './response-locals.ts'
import { formatChallenge } from './www-authenticate.ts'

export function authenticateRequest(access: AccessServices, countUnhandled: UnhandledRequestCounter): RequestHandler {
  return (request, response, next) => {
    const applyVerdict = ({ principal, refusal }: AuthVerdict): void => {
      if (refusal?.kind === 'unavailable') {
        const { facts, request_id } = localsOf(response)
        access.audit.recordRefusal({ facts, method: request.method, reason: 'SERVICE_UNAVAILABLE', request_id })
        return next(new ServiceError('SERVICE_UNAVAILABLE'))
      }
      if (refusal) {
        refuseUnauthorized(access, response, refusal)
        return countUnhandled(request, response.statusCode)
      }
      localsOf(response).principal = principal
      // This holds for unknown paths as well: other callers must not learn which paths below /admin exist.
      const forbidden = request.path.startsWith('/admin/') && !canAdminister(principal)
      next(forbidden ? notAdministratorError(principal) : undefined)
    }
    const verdict = access.authenticate(requestFactsOf(response))
    if (verdict instanceof Promise) verdict.then(applyVerdict).catch(next)
    else applyVerdict(verdict)
  }
}

/** Answers 401, and records the refusal in the audit log. */
export function refuseUnauthorized(
  { audit, tokens }: AccessServices,
  response: Response,
  { reason, cause }: UnauthorizedRefusal,
): void {
  const { facts, request_id } = localsOf(response)
  audit.recordRefusal({ facts, method: response.req.method, reason, cause, request_id })
  sendUnauthorized(response, reason, formatChallenge(facts, reason, tokens.mcp.resource))
}

/** Refuses operations of the administrator to other callers, and to tokens without the scope. */
export function checkAccess(
  { access, scope }: OperationInfo,
  { identity_provider }: Pick<Config, 'identity_provider'>,
): RequestHandler {
  if (access === 'public') return (_request, _response, next) => next()
  // In Local mode all callers are the same user, so counts of all users are the caller's own.
  const isAdministration = access === 'administrator' || (access === 'operator' && identity_provider !== null)
  return (_request, response, next) => {
    const { principal, signed } = localsOf(response)
    if (signed) return next()
    if (!principal || !canCall(principal, scope)) throw missingScopeError(principal, scope)
    if (isAdministration && !canAdminister(principal)) throw notAdministratorError(principal)
    next()
  }
}

/** Names the scope that the token lacks. */
function missingScopeError(principal: Principal | null | undefined, scope: TokenScope): ServiceError {
  const lacksScope = principal && !principal.scopes.includes(scope)
  return new ServiceError('FORBIDDEN', lacksScope ? { message: `The token lacks the scope ${scope}.` } : {})
}

function notAdministratorError(principal: Principal): ServiceError {
  if (!principal.scopes.includes('admin')) return missingScopeError(principal, 'admin')
  return new ServiceError('FORBIDDEN', { message: 'Only an administrator may do this.' })
}

/** Watches the credential of each request that has one. A signature in the query, and trust by address, are none. */
export function watchCredential({ rechecker }: Pick<AccessServices, 'rechecker'>): RequestHandler {
  return (_request, response, next) => {
    const locals = localsOf(response)
    const { facts, principal } = locals
    if (principal && !isTrustedByAddress(principal))
      locals.credential = new RequestCredential(rechecker, response, facts, principal)
    next()
  }
}

/** Records a call of an administrator in the audit log before it runs. */
export function auditAdministration({ operationId }: OperationInfo, audit: AuditLog): RequestHandler {
  return (_request, response, next) => {
    const { principal, request_id } = localsOf(response)
    if (principal) audit.recordAction('administrative_call', principal, { operation: operationId, request_id })
    next()
  }
}
