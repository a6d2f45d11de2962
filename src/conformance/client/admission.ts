// Who may come in: the client that has been given the token of the scenario.
import type { IncomingMessage } from 'node:http'
import { urlOf } from './routes.ts'
import type { Production } from './scenario.ts'
import { scenarioOf } from './stage.ts'

/** How often a token that is refused may come. */
const MOST_REFUSALS = 8

function tokenOf(request: IncomingMessage): string | null {
  const { authorization } = request.headers
  if (authorization !== undefined) return /^Bearer (.+)$/i.exec(authorization)?.[1] ?? null
  return urlOf(request.url!).searchParams.get('api_key')
}

/** Whether the request has a token that is good. Clients of other scenarios are refused, and decide nothing. */
export function isAdmitted(request: IncomingMessage, { stage, scenario }: Production, entry: number): boolean {
  const token = tokenOf(request)
  if (token !== null && stage.tokens.has(token)) return true
  if (token === null || !stage.task.tokens.includes(token)) {
    const other = token === null ? null : scenarioOf(token)
    if (other !== null) stage.transcript.note(`the line above is of the client of ${other}, which still runs`)
    return false
  }
  stage.connected = true
  scenario.play.refused?.(stage)
  if (stage.count(`refused ${token}`) > MOST_REFUSALS) {
    stage.violate(`the client came ${MOST_REFUSALS + 1} times with a token that had been refused`, entry)
  }
  return false
}
