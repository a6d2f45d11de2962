// Who gets to a handler: the procedure's verdict as an answer, and what an operation wants of a principal.
import type { RequestHandler } from 'express'
import type { OperationInfo } from '../../generated/operations.ts'
import type { Audit } from '../access/audit.ts'
import { administers, mayCall, type Principal, type TokenScope } from '../access/principal.ts'
import type { Verdict } from '../access/verdict.ts'
import type { Config } from '../config.ts'
import type { AppContext } from '../context.ts'
import { ServiceError } from '../errors.ts'
import { challengeTo } from './challenge.ts'
import type { Counted } from './counting.ts'
import { factsOf, localsOf } from './locals.ts'
import { sendRefusal } from './reply.ts'

export function authenticate({ principalOf, audit, tokens }: AppContext, counted: Counted): RequestHandler {
  return (request, response, next) => {
    const act = ({ principal, refusal }: Verdict): void => {
      if (refusal) {
        const { facts, request_id } = localsOf(response)
        const unavailable = refusal.kind === 'unavailable'
        const reason = unavailable ? 'SERVICE_UNAVAILABLE' : refusal.reason
        const cause = unavailable ? undefined : refusal.cause
        audit.refused({ facts, method: request.method, reason, cause, request_id })
        if (unavailable) return next(new ServiceError('SERVICE_UNAVAILABLE'))
        sendRefusal(response, reason, challengeTo(facts, reason, tokens.mcp.resource))
        return counted(request, response.statusCode)
      }
      localsOf(response).principal = principal
      // Also where nothing is served: what there is below /admin is no business of others.
      const forbidden = request.path.startsWith('/admin/') && !administers(principal)
      next(forbidden ? notAnAdministrator(principal) : undefined)
    }
    const verdict = principalOf(factsOf(response))
    if (verdict instanceof Promise) verdict.then(act).catch(next)
    else act(verdict)
  }
}

/** Keeps what is the administrator's from everybody else, and from a token what it is not good for. */
export function checkAccess(
  { access, scope }: OperationInfo,
  { identity_provider }: Pick<Config, 'identity_provider'>,
): RequestHandler {
  if (access === 'public') return (_request, _response, next) => next()
  // In Local mode all callers are the one user, so counts of all users are the caller's own.
  const isAdministration = access === 'administrator' || (access === 'operator' && identity_provider !== null)
  return (_request, response, next) => {
    const { principal, signed } = localsOf(response)
    if (signed) return next()
    if (!principal || !mayCall(principal, scope)) throw lacking(principal, scope)
    if (isAdministration && !administers(principal)) throw notAnAdministrator(principal)
    next()
  }
}

/** Says which scope a token would have to have. */
function lacking(principal: Principal | null | undefined, scope: TokenScope): ServiceError {
  const known = principal && !principal.scopes.includes(scope)
  return new ServiceError('FORBIDDEN', known ? { message: `The token lacks the scope ${scope}.` } : {})
}

function notAnAdministrator(principal: Principal): ServiceError {
  if (!principal.scopes.includes('admin')) return lacking(principal, 'admin')
  return new ServiceError('FORBIDDEN', { message: 'Only an administrator may do this.' })
}

/** Tells the audit log of what an administrator is about to do. */
export function tellAdministration({ operationId }: OperationInfo, audit: Audit): RequestHandler {
  return (_request, response, next) => {
    const { principal, request_id } = localsOf(response)
    if (principal) audit.did('administrative_call', principal, { operation: operationId, request_id })
    next()
  }
}
