// The server's capabilities, read once.

import { expect } from './check-outcomes.ts'
import { isMap, type JsonMap } from './json.ts'
import type { SuiteContext } from './suite-context.ts'
import { toEvidenceParts } from './target-server.ts'

/** @throws CheckSkipped where the server does not claim the capabilities */
export async function readCapabilities(t: SuiteContext): Promise<JsonMap> {
  t.requireOperations('getCapabilities')
  const answer = await t.memoize('capabilities', () => t.callExpecting('getCapabilities', 200))
  const { request, answer: got } = toEvidenceParts(answer)
  expect(isMap(answer.body), 'the capabilities are an object', request, got)
  return answer.body
}
