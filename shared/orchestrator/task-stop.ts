import { publicReason } from './public-reason.ts';

/**
 * Why tasks stop: the one table of it. `began`: whether something of the task ran, so that there may be side effects.
 * `again`: whether another attempt makes sense, within the run's attempts; what began is only tried again when the run
 * may repeat. `says` is the sign, matched on stop code, reason of the task and reasons of its containers (the wording
 * and the place differ by platform version); the first match wins. Rendered into `docs/task-stops.md`.
 */
export const STOP_CAUSES = {
  out_of_memory: {
    says: /OutOfMemory/,
    began: true,
    again: true,
    meaning: 'The container used more memory than the task has. The run fails with `memory_limit`.',
  },
  image_missing: {
    says: /CannotPull\w*Error.*(not found|manifest unknown|name unknown|does not exist|invalid reference|no matching manifest|does not contain descriptor)/is,
    began: false,
    again: false,
    meaning: 'The image of the task definition is not there, or not for this processor.',
  },
  image_refused: {
    says: /CannotPull\w*Error.*(denied|unauthori[sz]ed|forbidden|no basic auth|authentication required|\b40[13]\b)/is,
    began: false,
    again: false,
    meaning: 'The registry does not let this task pull the image.',
  },
  image_too_big: {
    says: /CannotPull\w*Error.*no space left/is,
    began: false,
    again: false,
    meaning: "The image does not fit on the task's storage.",
  },
  image_pull: {
    says: /CannotPull\w*Error/i,
    began: false,
    again: true,
    meaning:
      'The image could not be pulled this time: a timeout, the network, a limit of the registry.',
  },
  initialization_refused: {
    says: /ResourceInitializationError.*(AccessDenied|not authori[sz]ed|ResourceNotFound|can't find|does not exist)/is,
    began: false,
    again: false,
    meaning: 'What the task needs to start (a secret, a log group) is missing or refused to it.',
  },
  initialization: {
    says: /ResourceInitializationError/i,
    began: false,
    again: true,
    meaning: 'What the task needs to start could not be had this time: usually the network.',
  },
  start_refused: {
    says: /Cannot(Start|Create)\w*Error.*(exec format|executable file not found|no such file|permission denied|argument list too long|invalid)/is,
    began: false,
    again: false,
    meaning:
      'The container cannot start as it is defined: its program, or an environment that is too big.',
  },
  start: {
    says: /Cannot(Start|Create|Inspect)\w*Error|DockerTimeoutError|ContainerRuntime(Timeout)?Error/i,
    began: false,
    again: true,
    meaning: 'The container could not be started this time.',
  },
  network_interface: {
    says: /network interface/i,
    began: false,
    again: true,
    meaning: 'The network interface of the task was not provisioned.',
  },
  storage: {
    says: /EphemeralStorage|storage provisioning/i,
    began: false,
    again: true,
    meaning: 'The storage of the task was not provisioned.',
  },
  no_capacity: {
    says: /RESOURCE:[A-Z]|Capacity is unavailable|TaskFailedToStart: AGENT/,
    began: false,
    again: true,
    meaning: 'There was no place for the task.',
  },
  spot_interruption: {
    says: /^SpotInterruption|SpotInterruptionError/i,
    began: true,
    again: true,
    meaning: 'Spot capacity was taken back.',
  },
  infrastructure: {
    says: /^(TerminationNotice|InfrastructureHealth|ServiceSchedulerInitiated)|retirement|InternalError/i,
    began: true,
    again: true,
    meaning: 'The machine below the task went away or was retired.',
  },
  stopped_on_request: {
    says: /^UserInitiated/,
    began: true,
    again: true,
    meaning: 'Somebody called StopTask: the platform itself, or a person.',
  },
  exited: {
    says: /^EssentialContainerExited/,
    began: true,
    again: true,
    meaning: 'The host ended without a result, or before it claimed its run.',
  },
  not_started: {
    says: /^TaskFailedToStart/,
    began: false,
    again: true,
    meaning: 'The task did not start, for a reason that this table does not know.',
  },
  unknown: {
    says: /^/,
    began: true,
    again: true,
    meaning: 'No sign of this table fits.',
  },
} as const satisfies Record<
  string,
  { says: RegExp; began: boolean; again: boolean; meaning: string }
>;
export type StopCause = keyof typeof STOP_CAUSES;

/** What is learnt from a stopped task. */
export interface TaskStop {
  readonly cause: StopCause;
  /** Something of the task ran. False only when that is known. */
  readonly began: boolean;
  readonly again: boolean;
  /** For people: stop code, reasons and exit codes; bounded, without credentials. */
  readonly reason: string;
}

/** The part of a task that tells how it stopped, alike in events and in answers of the control plane. */
export interface StoppedTask {
  readonly stopCode?: string | undefined;
  readonly stoppedReason?: string | undefined;
  readonly containers?:
    | readonly {
        readonly exitCode?: number | undefined;
        readonly reason?: string | undefined;
      }[]
    | undefined;
}

/** B71, B80: reads every place a reason can be in. A missing exit code is never taken for 0. */
export function readTaskStop(task: StoppedTask): TaskStop {
  const { stopCode, stoppedReason, containers = [] } = task;
  const said = [stopCode, stoppedReason, ...containers.map(({ reason }) => reason)].filter(
    (text) => text !== undefined && text !== '',
  );
  const exitCodes = containers.flatMap(({ exitCode }) =>
    exitCode === undefined ? [] : [exitCode],
  );
  const cause = causeOf(said as string[]);
  const { began, again } = STOP_CAUSES[cause];
  return {
    cause,
    // Whatever the words are: a container with an exit code ran.
    began: exitCodes.length > 0 || (began && stopCode !== 'TaskFailedToStart'),
    again,
    reason: publicReason(
      [...said, exitCodes.length ? `exit code ${exitCodes.join(', ')}` : 'no exit code'].join('; '),
    ),
  };
}

function causeOf(said: readonly string[]): StopCause {
  const causes = Object.keys(STOP_CAUSES) as StopCause[];
  return (
    causes.find((cause) => said.some((text) => STOP_CAUSES[cause].says.test(text))) ?? 'unknown'
  );
}
