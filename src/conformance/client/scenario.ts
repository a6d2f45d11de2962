// What a scenario is: a task, the script of the server, and what it takes to pass. The rule itself stands in the contract.
import { type ClientRequirementId, clientRequirements } from '../../../generated/requirements.ts'
import type { Call, CallName } from './call.ts'
import type { Connection } from './connection.ts'
import type { Stage, StageFacts } from './stage.ts'
import type { Fields } from './wire.ts'

export type ScenarioId = ClientRequirementId extends `client.${infer Name}` ? Name : never

/** What the server does with one call. */
export type Turn = (call: Call, stage: Stage) => void

/** Turns by their number: the first call, the second …; what follows is answered as usual. One alone holds for all. */
export type Turns = Turn | readonly Turn[]

export interface Play {
  readonly calls?: Partial<Record<CallName, Turns>>
  /** A socket has opened. */
  readonly open?: (connection: Connection, stage: Stage) => void
  /** May refuse a handshake by giving a status. */
  readonly upgrade?: (stage: Stage) => number | null
  /** Any frame that is no RPC command. True: it is dealt with. */
  readonly frame?: (connection: Connection, frame: Fields, stage: Stage) => boolean
  /** A ping was answered. */
  readonly pong?: (connection: Connection, stage: Stage) => void
  /** A token was refused. */
  readonly refused?: (stage: Stage) => void
  /** A path was asked for that there is not. */
  readonly lost?: (stage: Stage, entry: number) => void
  /** A connection has carried more than one command with a request_id. */
  readonly several?: (stage: Stage) => void
  /** Changes every record that is sent. */
  readonly decorate?: (record: Fields, stage: Stage) => Fields
}

export interface Expected {
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

export interface Scenario extends StageFacts {
  readonly id: ScenarioId
  readonly title: string
  /** What the client must do before anything can be judged, in words. */
  readonly step: string
  /** The step is not the first scripted turn: the script says when it is reached. */
  readonly late?: boolean
  readonly prepare?: (stage: Stage) => void
  readonly play: Play
  /** The report, or null where the client cannot give one. */
  readonly expected: Expected | null
  /** Why it fails, or null. */
  readonly judge?: (stage: Stage) => string | null
  /** How much longer than others it may take, in milliseconds of the contract. */
  readonly patience_ms?: number
}

/** The rule that a scenario judges. */
export function ruleOf({ id }: Pick<Scenario, 'id'>): string {
  return clientRequirements.find((requirement) => requirement.id === `client.${id}`)!.rule
}

/** A scenario, and the stage that it is played on. */
export interface Production {
  readonly stage: Stage
  readonly scenario: Scenario
}

/** How records are changed before they are sent. */
export function decoration({ stage, scenario }: Production): (record: Fields) => Fields {
  return (record) => scenario.play.decorate?.(record, stage) ?? record
}
