import { AwsError } from '#local/aws/kit/aws-error.ts';
import type { StateDatabase } from '#local/aws/kit/state-database.ts';
import { arnOf, type Place } from './task-record.ts';

/** The short name or id at the end of an ARN, or what is short already. */
export const lastPart = (arnOrName: unknown): string => String(arnOrName).split('/').at(-1) ?? '';

/** Clusters are names; everything in them is elsewhere. */
export class Clusters {
  readonly #database: StateDatabase;
  readonly #place: Place;

  constructor(database: StateDatabase, place: Place) {
    this.#database = database;
    this.#place = place;
    database.exec('CREATE TABLE IF NOT EXISTS ecs_clusters (name TEXT PRIMARY KEY) STRICT');
  }

  create(name: string) {
    this.#database.prepare('INSERT OR IGNORE INTO ecs_clusters VALUES (?)').run(name);
    return this.describe(name);
  }

  has(name: string): boolean {
    return (
      this.#database.prepare('SELECT 1 FROM ecs_clusters WHERE name=?').get(name) !== undefined
    );
  }

  /** The name of an existing cluster, given its name, its ARN or nothing (`default`). */
  mustName(reference: string | undefined): string {
    const name = lastPart(reference ?? 'default');
    if (!this.has(name)) throw new AwsError('ClusterNotFoundException', 'Cluster not found.');
    return name;
  }

  describe(name: string) {
    return {
      clusterArn: arnOf(this.#place, `cluster/${name}`),
      clusterName: name,
      status: 'ACTIVE',
      registeredContainerInstancesCount: 0,
      runningTasksCount: 0,
      pendingTasksCount: 0,
      activeServicesCount: 0,
      statistics: [],
      tags: [],
      settings: [],
      capacityProviders: ['FARGATE', 'FARGATE_SPOT'],
      defaultCapacityProviderStrategy: [],
    };
  }
}
