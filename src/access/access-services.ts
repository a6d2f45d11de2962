// What decides who may call, and records who did.
import type { OwnRequestDetector } from '../net/own-request-detector.ts'
import type { AuditLog } from './audit-log.ts'
import type { Authenticator } from './authenticator.ts'
import type { CredentialRechecker } from './credential-rechecker.ts'
import type { RateLimiter } from './rate-limiter.ts'
import type { TokenServices } from './tokens/token-services.ts'

export interface AccessServices {
  /** Recognizes requests that this process sends for users and that come back to it. */
  readonly own_requests: OwnRequestDetector
  /** Counts requests and upgrades by client address, before `authenticate` checks the credential. */
  readonly rate_limiter: RateLimiter
  /** Authenticates a request or an upgrade: gives its principal, or why the caller is refused. */
  readonly authenticate: Authenticator
  /** Checks the credentials of sockets and requests again while they are open. */
  readonly rechecker: CredentialRechecker
  readonly tokens: TokenServices
  /** Logs what authorized callers did, and which callers were refused. */
  readonly audit: AuditLog
}
