import { Connection } from '@temporalio/client';
import type { Config } from '../config.js';
import { searchAttributes } from './temporal.js';

const KEYWORD = 2; // temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD

/** Registers the search attributes that are missing; returns their names. */
export const applySearchAttributes = async (config: Config<'admin'>): Promise<string[]> => {
  const connection = await Connection.connect({
    address: config.TEMPORAL_ADDRESS,
    tls: config.TEMPORAL_TLS || config.TEMPORAL_API_KEY !== undefined,
    ...(config.TEMPORAL_API_KEY === undefined ? {} : { apiKey: config.TEMPORAL_API_KEY }),
  });
  try {
    const namespace = config.TEMPORAL_NAMESPACE;
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = Object.keys(searchAttributes).filter((name) => !Object.hasOwn(customAttributes ?? {}, name));
    if (missing.length > 0)
      await connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
      });
    return missing;
  } finally {
    await connection.close();
  }
};
