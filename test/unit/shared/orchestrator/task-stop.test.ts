import { describe, expect, it } from 'vitest';
import { readTaskStop, STOP_CAUSES, type StopCause } from '#shared/orchestrator/task-stop.ts';

/** What the control plane says, in which place, and what it is. */
const SAID: [StopCause, Parameters<typeof readTaskStop>[0]][] = [
  [
    'out_of_memory',
    {
      stopCode: 'EssentialContainerExited',
      stoppedReason: 'Essential container in task exited',
      containers: [
        { exitCode: 137, reason: 'OutOfMemoryError: Container killed due to memory usage' },
      ],
    },
  ],
  [
    'image_missing',
    {
      stopCode: 'TaskFailedToStart',
      containers: [
        {
          reason:
            'CannotPullContainerError: pull image manifest has been retried 1 time(s): manifest unknown',
        },
      ],
    },
  ],
  [
    'image_missing',
    {
      stopCode: 'TaskFailedToStart',
      stoppedReason: 'CannotPullContainerError: failed to resolve ref example:1: not found',
    },
  ],
  [
    'image_missing',
    {
      stopCode: 'TaskFailedToStart',
      stoppedReason:
        "CannotPullContainerError: image Manifest does not contain descriptor matching platform 'linux/arm64'",
    },
  ],
  [
    'image_refused',
    {
      stopCode: 'TaskFailedToStart',
      stoppedReason:
        'CannotPullContainerError: pull access denied: unexpected status code 403 Forbidden',
    },
  ],
  [
    'image_too_big',
    {
      stopCode: 'TaskFailedToStart',
      stoppedReason: 'CannotPullContainerError: write /layer: no space left on device',
    },
  ],
  [
    'image_pull',
    {
      stopCode: 'TaskFailedToStart',
      containers: [{ reason: 'CannotPullContainerError: sha256:a401b403: net/http: i/o timeout' }],
    },
  ],
  [
    'initialization_refused',
    {
      stopCode: 'TaskFailedToStart',
      stoppedReason:
        'ResourceInitializationError: unable to pull secrets or registry auth: AccessDeniedException: not authorized',
    },
  ],
  [
    'initialization',
    {
      stopCode: 'TaskFailedToStart',
      stoppedReason:
        'ResourceInitializationError: unable to pull secrets or registry auth: context deadline exceeded',
    },
  ],
  [
    'start_refused',
    {
      stopCode: 'TaskFailedToStart',
      containers: [{ reason: 'CannotStartContainerError: exec: argument list too long' }],
    },
  ],
  [
    'start',
    {
      stopCode: 'TaskFailedToStart',
      containers: [{ reason: 'CannotCreateContainerError: runtime did not answer' }],
    },
  ],
  [
    'network_interface',
    {
      stopCode: 'TaskFailedToStart',
      stoppedReason: 'Timeout waiting for network interface provisioning to complete.',
    },
  ],
  [
    'storage',
    {
      stopCode: 'TaskFailedToStart',
      stoppedReason: 'Timeout waiting for EphemeralStorage provisioning to complete.',
    },
  ],
  ['no_capacity', { stopCode: 'TaskFailedToStart', stoppedReason: 'RESOURCE:MEMORY' }],
  ['spot_interruption', { stopCode: 'SpotInterruption', containers: [{ exitCode: 143 }] }],
  ['infrastructure', { stopCode: 'TerminationNotice', containers: [{ exitCode: 143 }] }],
  ['infrastructure', { stopCode: 'InfrastructureHealth' }],
  ['stopped_on_request', { stopCode: 'UserInitiated', stoppedReason: 'enough' }],
  [
    'exited',
    {
      stopCode: 'EssentialContainerExited',
      stoppedReason: 'Essential container in task exited',
      containers: [{ exitCode: 1 }],
    },
  ],
  ['not_started', { stopCode: 'TaskFailedToStart', stoppedReason: 'something new' }],
  ['unknown', { stopCode: 'SomethingNew' }],
  ['unknown', {}],
];

describe('why a task stopped', () => {
  it.each(SAID)('%s: %j', (cause, task) => {
    expect(readTaskStop(task).cause).toBe(cause);
  });

  it('has an example of every cause', () => {
    expect(new Set(SAID.map(([cause]) => cause))).toEqual(new Set(Object.keys(STOP_CAUSES)));
  });

  it('B71 does not take a missing exit code for success', () => {
    expect(readTaskStop({ stopCode: 'TaskFailedToStart', containers: [{}] }).reason).toBe(
      'TaskFailedToStart; no exit code',
    );
    expect(readTaskStop({ containers: [{ exitCode: 0 }] }).reason).toBe('exit code 0');
  });

  it('knows that something ran where a container has an exit code, whatever the words say', () => {
    const words = { stopCode: 'TaskFailedToStart', stoppedReason: 'CannotStartContainerError' };
    expect(readTaskStop(words).began).toBe(false);
    expect(readTaskStop({ ...words, containers: [{ exitCode: 1 }] }).began).toBe(true);
  });

  it.each([
    'https://user:CANARY@registry.invalid/v2/x',
    'https://layers.invalid/blob?X-Amz-Signature=CANARY&X-Amz-Date=1',
    'Authorization: Basic CANARY0123456789',
    'Bearer CANARY.0123456789',
    'AKIACANARY0123456789',
    'password=CANARY',
    '{"token":"CANARY"}',
  ])('B80 shows no credentials: %s', (secret) => {
    const { reason } = readTaskStop({
      stoppedReason: `CannotPullContainerError: ${secret} failed`,
    });
    expect(reason).toContain('CannotPullContainerError');
    expect(reason).not.toContain('CANARY');
  });

  it('is told in bounded words, however long they are', () => {
    const reasonOf = (stoppedReason: string) => readTaskStop({ stoppedReason }).reason;
    expect(reasonOf('word '.repeat(200_000)).length).toBe(1_000);
    expect(reasonOf('x'.repeat(1_000_000)).length).toBeLessThanOrEqual(1_000);
    expect(reasonOf(`${'x '.repeat(1_990)}https://user:CANARY${'y'.repeat(50)}@a`)).not.toContain(
      'CANARY',
    );
  });
});
