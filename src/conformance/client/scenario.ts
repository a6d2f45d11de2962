// The parts of a scenario: a task, the script of the server, and the conditions to pass. The contract holds the rule itself.
import { type ClientRequirementId, clientRequirements } from '../../../generated/requirements.ts'
import type { ClientCall, ClientCallName } from './call.ts'
import type { ClientConnection } from './connection.ts'
import type { JsonMap } from './frame-codec.ts'
import type { ScenarioRun, ScenarioSetup } from './scenario-run.ts'

export type ScenarioId = ClientRequirementId extends `client.${infer Name}` ? Name : never

/** Handles one call on the server. */
export type CallHandler = (call: ClientCall, run: ScenarioRun) => void

/** Handlers by turn: the first call, the second, and so on. Later calls get the default reply. A single handler handles all calls. */
export type CallHandlers = CallHandler | readonly CallHandler[]

export interface ServerScript {
  readonly calls?: Partial<Record<ClientCallName, CallHandlers>>
  /** Called when a socket has opened. */
  readonly onOpen?: (connection: ClientConnection, run: ScenarioRun) => void
  /** May refuse a handshake by returning a status. */
  readonly onUpgrade?: (run: ScenarioRun) => number | null
  /** Handles frames other than RPC commands. Returns true where it has handled the frame. */
  readonly onFrame?: (connection: ClientConnection, frame: JsonMap, run: ScenarioRun) => boolean
  /** Called when the client answers a ping. */
  readonly onPong?: (connection: ClientConnection, run: ScenarioRun) => void
  /** Called when a token was refused. */
  readonly onTokenRefused?: (run: ScenarioRun) => void
  /** Called when a client requests an unknown path. */
  readonly onUnknownPath?: (run: ScenarioRun, entry: number) => void
  /** Called when a connection has carried more than one command with a request_id. */
  readonly onSecondRequestId?: (run: ScenarioRun) => void
  /** Changes every record before it is sent. */
  readonly decorate?: (record: JsonMap, run: ScenarioRun) => JsonMap
}

export interface ExpectedReport {
  /** The status is one of these. */
  readonly status: readonly string[]
  /** Absent: the value is not checked. */
  readonly value?: unknown
  /**
   * The expected sequences. `complete`: all of them, except where the client used a snapshot or subscribed again for the missing ones.
   * `rising`: any existing ones in rising order.
   */
  readonly events?: readonly number[] | 'complete' | 'rising'
}

export interface Scenario extends ScenarioSetup {
  readonly id: ScenarioId
  readonly title: string
  /** The step that the client has to reach before it can be judged, in words. */
  readonly step: string
  /** The script itself decides when the step is reached, instead of the first scripted turn. */
  readonly isReachedByScript?: boolean
  readonly prepare?: (run: ScenarioRun) => void
  readonly script: ServerScript
  /** The expected report. Null where the client cannot send one. */
  readonly expected: ExpectedReport | null
  /** Returns the reason of a failure, or null. */
  readonly findFailure?: (run: ScenarioRun) => string | null
  /** How much longer than other scenarios it may take, in milliseconds of the contract. */
  readonly extra_timeout_ms?: number
}

/** Returns the rule that a scenario tests. */
export function findScenarioRule({ id }: Pick<Scenario, 'id'>): string {
  return clientRequirements.find((requirement) => requirement.id === `client.${id}`)!.rule
}

/** A scenario and the state of its run. */
export interface ScenarioContext {
  readonly scenarioRun: ScenarioRun
  readonly scenario: Scenario
}

/** Returns the function that changes records before they are sent. */
export function createDecorator({ scenarioRun: run, scenario }: ScenarioContext): (record: JsonMap) => JsonMap {
  return (record) => scenario.script.decorate?.(record, run) ?? record
}
