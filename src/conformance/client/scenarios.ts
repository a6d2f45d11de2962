// All scenarios, in the order in which they are played: one for each requirement that the contract has of clients.
import type { Scenario } from './scenario.ts'
import { cancellations } from './scenarios/cancellation.ts'
import { correlation } from './scenarios/correlation.ts'
import { doors } from './scenarios/doors.ts'
import { events } from './scenarios/events.ts'
import { keepAlive } from './scenarios/keep-alive.ts'
import { snapshots } from './scenarios/snapshots.ts'
import { sockets } from './scenarios/sockets.ts'
import { states } from './scenarios/states.ts'
import { submissions } from './scenarios/submissions.ts'
import { tolerance } from './scenarios/tolerance.ts'

export const scenarios: readonly Scenario[] = [
  ...correlation,
  ...tolerance,
  ...events,
  ...snapshots,
  ...states,
  ...sockets,
  ...keepAlive,
  ...submissions,
  ...cancellations,
  ...doors,
]
