// Access control: sends the refusal of an AuthVerdict, and checks what an operation requires of the principal.
import type { RequestHandler } from 'express'
import type { OperationInfo } from '../../../generated/operations.ts'
import type { AccessServices } from '../../access/access-services.ts'
import type { AuditLog } from '../../access/audit-log.ts'
import type { AuthVerdict } from '../../access/auth-verdict.ts'
import { canAdminister, canCall, type Principal, type TokenScope } from '../../access/principal.ts'
import type { Config } from '../../config.ts'
import { ServiceError } from '../../errors.ts'
import { sendUnauthorized } from './reply.ts'
import type { UnhandledRequestCounter } from './request-metrics.ts'
import { localsOf, requestFactsOf } from './response-locals.ts'
import { formatChallenge } from './www-authenticate.ts'

export function authenticateRequest(
  { authenticate, audit, tokens }: AccessServices,
  countUnhandled: UnhandledRequestCounter,
): RequestHandler {
  return (request, response, next) => {
    const applyVerdict = ({ principal, refusal }: AuthVerdict): void => {
      if (refusal) {
        const { facts, request_id } = localsOf(response)
        const unavailable = refusal.kind === 'unavailable'
        const reason = unavailable ? 'SERVICE_UNAVAILABLE' : refusal.reason
        const cause = unavailable ? undefined : refusal.cause
        audit.recordRefusal({ facts, method: request.method, reason, cause, request_id })
        if (unavailable) return next(new ServiceError('SERVICE_UNAVAILABLE'))
        sendUnauthorized(response, reason, formatChallenge(facts, reason, tokens.mcp.resource))
        return countUnhandled(request, response.statusCode)
      }
      localsOf(response).principal = principal
      // This holds for unknown paths as well: other callers must not learn which paths below /admin exist.
      const forbidden = request.path.startsWith('/admin/') && !canAdminister(principal)
      next(forbidden ? notAdministratorError(principal) : undefined)
    }
    const verdict = authenticate(requestFactsOf(response))
    if (verdict instanceof Promise) verdict.then(applyVerdict).catch(next)
    else applyVerdict(verdict)
  }
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

/** Records a call of an administrator in the audit log before it runs. */
export function auditAdministration({ operationId }: OperationInfo, audit: AuditLog): RequestHandler {
  return (_request, response, next) => {
    const { principal, request_id } = localsOf(response)
    if (principal) audit.recordAction('administrative_call', principal, { operation: operationId, request_id })
    next()
  }
}
