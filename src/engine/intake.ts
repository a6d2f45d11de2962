// How tokens get into an inbox and out of it: with its limit, and deaf to what nobody wants any more.
import type { HeldValues } from './held-values.ts'
import type { Inbox } from './inbox.ts'
import { End } from './tokens.ts'

export interface InboxHost {
  /** How many tokens an inbox holds before its producer pauses. */
  readonly inboxLimit: number
  /** About how many characters they may have together. */
  readonly inboxWeight: number
  /** What the run holds. */
  readonly held: HeldValues
  /** An inbox reached its limit, or went below it again. */
  filled(inbox: Inbox): void
  freed(inbox: Inbox): void
  /** An inbox drops what comes, or hears again. */
  deafened(inbox: Inbox): void
  heard(inbox: Inbox): void
  /** A token went into an edge. `inbox` is null for an edge that carries a single value. */
  travelled(edge_id: string, inbox: Inbox | null, token: unknown): void
}

/** Puts a token in. Gives how many wait then; 0 where it was dropped. */
export function accept(host: InboxHost, inbox: Inbox, token: unknown): number {
  if (inbox.deaf > 0) {
    if (!(token instanceof End) || token.level > inbox.deaf) return 0
    inbox.deaf = 0
    host.heard(inbox)
  }
  host.travelled(inbox.slot.edge_id, inbox, token)
  const size = inbox.push(token)
  if (!inbox.barred && inbox.full) {
    inbox.barred = true
    host.filled(inbox)
  }
  return size
}

/** Takes the first token out. */
export function takeFrom(host: InboxHost, inbox: Inbox): unknown {
  const token = inbox.shift()
  if (inbox.barred) unbar(host, inbox)
  return token
}

/** Lets the producer go on where there is room again. */
export function unbar(host: Pick<InboxHost, 'freed'>, inbox: Inbox): void {
  if (inbox.full) return
  inbox.barred = false
  host.freed(inbox)
}

/** Drops what waits, and what comes, before the end of the stream of a level. */
export function deafen(host: InboxHost, inbox: Inbox, level: number): void {
  const ended = inbox.purge(level)
  if (inbox.barred) unbar(host, inbox)
  if (ended || (inbox.deaf > 0 && inbox.deaf <= level)) return
  const wasDeaf = inbox.deaf > 0
  inbox.deaf = level
  if (!wasDeaf) host.deafened(inbox)
}
