/** How a task ended, in the words of the control plane. */
export interface TaskEnd {
  readonly stopCode: string;
  readonly stoppedReason: string;
  readonly exitCode: number | undefined;
  readonly containerReason?: string;
}

/** A task as the control plane keeps it, and the host in it. */
export interface SimulatedTask {
  readonly arn: string;
  readonly startedBy: string;
  readonly createdAt: number;
  readonly environment: Readonly<Record<string, string>>;
  status: 'PROVISIONING' | 'RUNNING' | 'DEPROVISIONING' | 'STOPPED';
  stopping: boolean;
  stopReason: string | undefined;
  end: TaskEnd | undefined;
  host: HostProcess | undefined;
}

/** What runs in a task. */
export interface HostProcess {
  /** SIGTERM. */
  terminate(): void;
  /** SIGKILL, to it and all it started. */
  kill(): void;
}
