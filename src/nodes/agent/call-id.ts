// Ids of the tool calls of agents.
import { cryptoLibrary } from '../shared/lazy-libraries.ts'

/**
 * Makes an id that no other call of any agent has, because conversations may combine calls of several agents. The turn is part of it: a
 * resumed firing gets the same random numbers again, for other turns.
 */
export function createCallId(random: number, turn: string, at: number): string {
  const digest = cryptoLibrary().createHash('sha256').update(`${random} ${turn} ${at}`).digest('hex')
  return `call_${digest.slice(0, 24)}`
}
