// What a check is: it judges one requirement, and throws where it is broken or cannot be judged.
import type { ServerRequirementId } from '../../../../generated/requirements.ts'
import type { SuiteContext } from '../suite-context.ts'

export type RequirementCheck = (trial: SuiteContext) => Promise<void>

/** The ids that begin with `server.<area>.` */
type RequirementIdInArea<Area extends string> = Extract<ServerRequirementId, `server.${Area}.${string}`>

/** Exactly the checks of these areas: one that is missing does not compile. */
export type AreaChecks<Area extends string> = Readonly<Record<RequirementIdInArea<Area>, RequirementCheck>>
