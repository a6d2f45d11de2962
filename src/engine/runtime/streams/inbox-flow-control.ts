// How tokens get into an inbox and out of it: with its limit, and deaf to what nobody wants any more.
import type { RunMemoryAccount } from '../run/memory-account.ts'
import type { Inbox } from './inbox.ts'
import { StreamEndToken } from './tokens.ts'

export interface InboxHost {
  /** How many tokens an inbox holds before its producer pauses. */
  readonly inboxLimit: number
  /** About how many characters they may have together. */
  readonly inboxWeight: number
  /** What the run holds. */
  readonly memoryAccount: RunMemoryAccount
  /** An inbox reached its limit, or went below it again. */
  filled(inbox: Inbox): void
  freed(inbox: Inbox): void
  /** An inbox drops what comes, or hears again. */
  onUnsubscribed(inbox: Inbox): void
  onResubscribed(inbox: Inbox): void
  /** A token went into an edge. `inbox` is null for an edge that carries a single value. */
  onTokenSent(edge_id: string, inbox: Inbox | null, token: unknown): void
}

/** Puts a token in. Gives how many wait then; 0 where it was dropped. */
export function acceptToken(host: InboxHost, inbox: Inbox, token: unknown): number {
  if (inbox.unsubscribedLevel > 0) {
    if (!(token instanceof StreamEndToken) || token.level > inbox.unsubscribedLevel) return 0
    inbox.unsubscribedLevel = 0
    host.onResubscribed(inbox)
  }
  host.onTokenSent(inbox.slot.edge_id, inbox, token)
  const size = inbox.push(token)
  if (!inbox.isProducerPaused && inbox.isFull) {
    inbox.isProducerPaused = true
    host.filled(inbox)
  }
  return size
}

/** Takes the first token out. */
export function takeToken(host: InboxHost, inbox: Inbox): unknown {
  const token = inbox.shift()
  if (inbox.isProducerPaused) resumeProducer(host, inbox)
  return token
}

/** Lets the producer go on where there is room again. */
export function resumeProducer(host: Pick<InboxHost, 'freed'>, inbox: Inbox): void {
  if (inbox.isFull) return
  inbox.isProducerPaused = false
  host.freed(inbox)
}

/** Drops what waits, and what comes, before the end of the stream of a level. */
export function unsubscribe(host: InboxHost, inbox: Inbox, level: number): void {
  const hasEnded = inbox.purge(level)
  if (inbox.isProducerPaused) resumeProducer(host, inbox)
  if (hasEnded || (inbox.unsubscribedLevel > 0 && inbox.unsubscribedLevel <= level)) return
  const wasUnsubscribed = inbox.unsubscribedLevel > 0
  inbox.unsubscribedLevel = level
  if (!wasUnsubscribed) host.onUnsubscribed(inbox)
}
