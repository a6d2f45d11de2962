// What a scenario is: a task, the script of the server, and what it takes to pass. The rule itself stands in the contract.
import { type ClientRequirementId, clientRequirements } from '../../../generated/requirements.ts'
import type { ClientCall, ClientCallName } from './call.ts'
import type { ClientConnection } from './connection.ts'
import type { JsonMap } from './frame-codec.ts'
import type { ScenarioRun, ScenarioSetup } from './scenario-run.ts'

export type ScenarioId = ClientRequirementId extends `client.${infer Name}` ? Name : never

/** What the server does with one call. */
export type CallHandler = (call: ClientCall, run: ScenarioRun) => void

/** Turns by their number: the first call, the second …; what follows is answered as usual. One alone holds for all. */
export type CallHandlers = CallHandler | readonly CallHandler[]

export interface ServerScript {
  readonly calls?: Partial<Record<ClientCallName, CallHandlers>>
  /** A socket has opened. */
  readonly onOpen?: (connection: ClientConnection, run: ScenarioRun) => void
  /** May refuse a handshake by giving a status. */
  readonly onUpgrade?: (run: ScenarioRun) => number | null
  /** Any frame that is no RPC command. True: it is dealt with. */
  readonly onFrame?: (connection: ClientConnection, frame: JsonMap, run: ScenarioRun) => boolean
  /** A ping was answered. */
  readonly onPong?: (connection: ClientConnection, run: ScenarioRun) => void
  /** A token was refused. */
  readonly onTokenRefused?: (run: ScenarioRun) => void
  /** A path was asked for that there is not. */
  readonly onUnknownPath?: (run: ScenarioRun, entry: number) => void
  /** A connection has carried more than one command with a request_id. */
  readonly onSecondRequestId?: (run: ScenarioRun) => void
  /** Changes every record that is sent. */
  readonly decorate?: (record: JsonMap, run: ScenarioRun) => JsonMap
}

export interface ExpectedReport {
  /** Any of these. */
  readonly status: readonly string[]
  /** Absent: it is not looked at. */
  readonly value?: unknown
  /**
   * Exactly these sequences; or `complete`: all of them, except where the client took a snapshot or subscribed anew for
   * what it missed; or `rising`: any that exist, in their order.
   */
  readonly events?: readonly number[] | 'complete' | 'rising'
}

export interface Scenario extends ScenarioSetup {
  readonly id: ScenarioId
  readonly title: string
  /** What the client must do before anything can be judged, in words. */
  readonly step: string
  /** The step is not the first scripted turn: the script says when it is reached. */
  readonly isReachedByScript?: boolean
  readonly prepare?: (run: ScenarioRun) => void
  readonly script: ServerScript
  /** The report, or null where the client cannot give one. */
  readonly expected: ExpectedReport | null
  /** Why it fails, or null. */
  readonly findFailure?: (run: ScenarioRun) => string | null
  /** How much longer than others it may take, in milliseconds of the contract. */
  readonly extra_timeout_ms?: number
}

/** The rule that a scenario judges. */
export function findScenarioRule({ id }: Pick<Scenario, 'id'>): string {
  return clientRequirements.find((requirement) => requirement.id === `client.${id}`)!.rule
}

/** A scenario, and the stage that it is played on. */
export interface ScenarioContext {
  readonly scenarioRun: ScenarioRun
  readonly scenario: Scenario
}

/** How records are changed before they are sent. */
export function createDecorator({ scenarioRun: run, scenario }: ScenarioContext): (record: JsonMap) => JsonMap {
  return (record) => scenario.script.decorate?.(record, run) ?? record
}
