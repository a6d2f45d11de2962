// What a check is: it judges one requirement, and throws where it is broken or cannot be judged.
import type { ServerRequirementId } from '../../../../generated/requirements.ts'
import type { Trial } from '../trial.ts'

export type Check = (trial: Trial) => Promise<void>

/** The ids that begin with `server.<area>.` */
type InArea<Area extends string> = Extract<ServerRequirementId, `server.${Area}.${string}`>

/** Exactly the checks of these areas: one that is missing does not compile. */
export type ChecksOf<Area extends string> = Readonly<Record<InArea<Area>, Check>>
