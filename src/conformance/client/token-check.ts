// Checks the token of a request. Only the client of the running scenario may connect.
import type { IncomingMessage } from 'node:http'
import { parseRequestUrl } from './routes.ts'
import type { ScenarioContext } from './scenario.ts'
import { findScenarioOfToken } from './scenario-run.ts'

/** How often a refused token may come. */
const MAX_REFUSED_TOKENS = 8

function readToken(request: IncomingMessage): string | null {
  const { authorization } = request.headers
  if (authorization !== undefined) return /^Bearer (.+)$/i.exec(authorization)?.[1] ?? null
  return parseRequestUrl(request.url!).searchParams.get('api_key')
}

/** Whether the token is valid. Clients of other scenarios are refused without effect on the verdict. */
export function isTokenAccepted(
  request: IncomingMessage,
  { scenarioRun: run, scenario }: ScenarioContext,
  entry: number,
): boolean {
  const token = readToken(request)
  if (token !== null && run.validTokens.has(token)) return true
  if (token === null || !run.task.tokens.includes(token)) {
    const other = token === null ? null : findScenarioOfToken(token)
    if (other !== null) run.transcript.addNote(`the line above belongs to the client of ${other}, which still runs`)
    return false
  }
  run.hasConnected = true
  scenario.script.onTokenRefused?.(run)
  if (run.countOccurrence(`refused ${token}`) > MAX_REFUSED_TOKENS) {
    run.addViolation(`the client sent a token that had been refused ${MAX_REFUSED_TOKENS + 1} times`, entry)
  }
  return false
}
